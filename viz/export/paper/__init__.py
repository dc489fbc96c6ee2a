"""Static pictures of one head or of all heads, for PNG, SVG and PDF exports and for printed handouts."""
from typing import TYPE_CHECKING

from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.components.from_record import picture_of
from clearhead.viz.export import provenance
from clearhead.viz.export.paper.columns import heads_named, model_named
from clearhead.viz.export.paper.page import Paper, whole_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(record: AttentionRecord, view: View, raster: bool, *, all_heads: bool = False, caption: bool = True,
           link: str = "") -> "Figure":
    """Return a figure of the open head in its lens, or of all heads. Call it inside `sheet.pen`.

    raster: draw cells as pixels (for PNG) instead of shapes. caption: print the provenance below. link: the view's URL,
    which is part of the caption.
    """
    plan = picture_of(record, view, all_heads).plan(Paper(raster))
    said = [" · ".join(part) for part in provenance.sentences(record, link)] if caption else []
    return whole_page([plan], [""], heads_named(record, view, () if all_heads else (view.head_id,)),
                      [model_named(record, view)], said)
