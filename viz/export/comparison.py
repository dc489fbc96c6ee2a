"""Export a comparison as one picture of the first head, the second head and their difference."""
import json

from clearhead.model.core.query import with_arrays
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import DisplayedHead, View
from clearhead.viz.components.picture_view import PatchValues
from clearhead.viz.components.picture_view.rows import hidden_tokens, patches_of
from clearhead.viz.export import provenance
from clearhead.viz.export.paper import head, picture
from clearhead.viz.export.paper.page import WORDS, PicturePlan, whole_page
from clearhead.viz.export.paper.sheet import pen, save
from clearhead.viz.export.tables import SIDES

KINDS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
ZOOM = 3   # pixels per point in a PNG


@with_arrays
class SavedComparison:
    """A comparison as shown on the page."""

    shown: tuple[DisplayedHead, ...]                   # the first head, the second head, their difference
    view: View
    bound: float                                       # the difference at full colour
    titles: tuple[str, ...]                            # titles of the three
    records: tuple[AttentionRecord, AttentionRecord]   # records of the two heads
    link: str = ""                                     # URL of the page
    # for pictures, each of the three's row for the token in focus, over the tokens of its side; () for texts
    values: tuple[PatchValues, ...] = ()


def comparison_picture(comparison: SavedComparison, kind: str) -> bytes:
    """Return the three pictures on one page as png, svg or pdf, with their provenance. Raises UserError if a PNG would
    be too large."""
    sentences = [provenance.sentences(record, comparison.link) for record in comparison.records]
    source = json.dumps([json.loads(provenance.dumps(record, comparison.view, comparison.link))
                         for record in comparison.records])
    words = [" · ".join(part) for texts, lines in sentences for part in (texts, lines) if part]
    with pen():
        plans = _over_pictures(comparison) if comparison.values else [
            head.matrix_plan(shown, comparison.view, kind == "png", comparison.bound if side == "difference" else None)
            for side, shown in zip(SIDES, comparison.shown, strict=True)]
        drawn = whole_page(plans, comparison.titles, WORDS["comparison"], [], list(dict.fromkeys(words)))
        return save(drawn, kind, ZOOM, source)


def _over_pictures(comparison: SavedComparison) -> list[PicturePlan]:
    """Plan three pictures: the first head's row over its picture, the second head's row over its picture, and the
    difference over the second picture."""
    plans, focus = [], comparison.view.token or 0
    for side, values in enumerate(comparison.values):
        record = comparison.records[min(side, 1)]
        patches = patches_of(record, comparison.view.kind)
        plans.append(picture.plan_of(patches.picture, patches.boxes, values, focus=focus, hidden=hidden_tokens(record),
                                     orientation=WORDS("picture", a=patches.texts[focus])))
    return plans
