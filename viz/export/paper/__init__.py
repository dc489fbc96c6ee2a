"""Static pictures of one head or of all heads, for PNG, SVG and PDF exports and for printed handouts."""
from typing import TYPE_CHECKING

from clearhead.model.core import heads
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View, displayed_head, overlaid_heads
from clearhead.viz.export import provenance
from clearhead.viz.export.paper import grid, head, picture
from clearhead.viz.export.paper.columns import heads_named, model_named
from clearhead.viz.export.paper.page import whole_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(record: AttentionRecord, view: View, raster: bool, *, all_heads: bool = False, caption: bool = True,
           link: str = "") -> "Figure":
    """Return a figure of the open head in its lens, or of all heads. Call it inside `sheet.pen`.

    raster: draw cells as pixels (for PNG) instead of shapes. caption: print the provenance below. link: the view's URL,
    which is part of the caption.
    """
    if all_heads:
        shown, notes, numbers = grid.grid_state(record, view)
        plan = grid.plan_of(heads.overview(record[view.kind]), shown, raster, notes=notes, numbers=numbers)
    else:
        plan = picture.plan(record, view) if view.lens == "picture" else head.plan_of(
            [displayed_head(record, view), *overlaid_heads(record, view)], view, raster)
    said = [" · ".join(part) for part in provenance.sentences(record, link)] if caption else []
    return whole_page([plan], [""], heads_named(record, view, () if all_heads else (view.head_id,)),
                      [model_named(record, view)], said)
