"""Static pictures of one head or of all heads, for PNG, SVG and PDF exports and for printed handouts."""
from typing import TYPE_CHECKING

from model.core import heads
from model.core.record import AttentionRecord
from model.core.view import View, displayed_head, overlaid_heads
from viz import provenance
from viz.paper import grid, head, picture
from viz.paper.page import WORDS, whole_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(record: AttentionRecord, view: View, raster: bool, *, all_heads: bool = False, caption: bool = True,
           link: str = "") -> "Figure":
    """Return a figure of the open head in its lens, or of all heads. Call it inside `sheet.pen`.

    raster: draw cells as pixels (for PNG) instead of shapes. caption: print the provenance below. link: the view's URL,
    which is part of the caption.
    """
    if all_heads:
        title = WORDS("grid_title", count=sum(layer.heads for layer in record[view.kind].layers))
        shown, notes, numbers = grid.grid_state(record, view)
        plan = grid.plan_of(heads.overview(record[view.kind]), shown, raster, notes=notes, numbers=numbers)
    else:
        title = WORDS("title", layer=view.layer, head=view.head)
        plan = picture.plan(record, view) if view.lens == "picture" else head.plan_of(
            [displayed_head(record, view), *overlaid_heads(record, view)], view, raster)
    said = [" · ".join(part) for part in provenance.sentences(record, link)] if caption else []
    lead = WORDS("of", title=record.card.title, kind=view.kind.label(WORDS["kinds"]))
    return whole_page([plan], [""], title, [lead], said)
