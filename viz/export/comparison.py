"""Export a comparison as one picture of the first head, the second head and their difference."""
import json

from clearhead.model.core.query import with_arrays
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.components.picture import Head, Image
from clearhead.viz.export import provenance
from clearhead.viz.export.paper.page import WORDS, whole_page
from clearhead.viz.export.paper.sheet import pen, save

KINDS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
ZOOM = 3   # pixels per point in a PNG


@with_arrays
class SavedComparison:
    """A comparison as shown on the page."""

    shown: tuple[Head | Image, ...]                    # the first head, the second head, their difference
    view: View
    titles: tuple[str, ...]                            # titles of the three
    records: tuple[AttentionRecord, AttentionRecord]   # records of the two heads
    link: str = ""                                     # URL of the page


def comparison_picture(comparison: SavedComparison, kind: str) -> bytes:
    """Return the three pictures on one page as png, svg or pdf, with their provenance. Raises UserError if a PNG would
    be too large."""
    sentences = [provenance.sentences(record, comparison.link) for record in comparison.records]
    source = json.dumps([json.loads(provenance.dumps(record, comparison.view, comparison.link))
                         for record in comparison.records])
    words = [" · ".join(part) for texts, lines in sentences for part in (texts, lines) if part]
    with pen():
        plans = [shown.plan(kind == "png") for shown in comparison.shown]
        drawn = whole_page(plans, comparison.titles, WORDS["comparison"], [], list(dict.fromkeys(words)))
        return save(drawn, kind, ZOOM, source)
