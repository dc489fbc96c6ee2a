"""A comparison as a file: the first head, the second and their difference as one picture, or their numbers as CSV."""
import json
from dataclasses import dataclass

import numpy as np

from model.core.record import AttentionRecord
from model.core.view import DisplayedHead, View
from viz import provenance
from viz.components.picture_view import PatchValues
from viz.components.picture_view.rows import hidden_tokens, patches_of
from viz.export.csv import guard_cell
from viz.print import matrix
from viz.print import picture as over_picture
from viz.print.layout import WORDS, PicturePlan
from viz.print.page import pictures_beside
from viz.print.sheet import pen, save

NAMES = ("first", "second", "difference")
KINDS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
WHERE = {"png": "provenance", "svg": "Description", "pdf": "Subject"}   # what holds a file's source
ZOOM = 3   # pixels a point of a PNG


@dataclass(frozen=True, eq=False)
class SavedComparison:
    """A comparison as the page shows it."""

    shown: tuple[DisplayedHead, ...]                   # the first, the second, their difference
    view: View                                         # how they are looked at
    bound: float                                       # the number with the full colour, of the difference
    titles: tuple[str, ...]                            # of each
    records: tuple[AttentionRecord, AttentionRecord]   # both sides
    link: str = ""                                     # the page's address
    # of pictures, for each of the three: what the token in focus looks at, by the tokens of its own side; () of texts
    values: tuple[PatchValues, ...] = ()


def picture(comparison: SavedComparison, kind: str) -> bytes:
    """All three on one page as png, svg or pdf, with where they come from. Raises UserError where a PNG would be too
    large."""
    sentences = [provenance.sentences(record, comparison.link) for record in comparison.records]
    source = json.dumps([json.loads(provenance.dumps(record, comparison.view, comparison.link))
                         for record in comparison.records])
    words = [" · ".join(part) for texts, lines in sentences for part in (texts, lines)]
    with pen():
        plans = _over_pictures(comparison) if comparison.values else _matrices(comparison, kind == "png")
        drawn = pictures_beside(plans, list(comparison.titles), WORDS["comparison"],
                                list(dict.fromkeys(filter(None, words))))
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        return save(drawn, kind, ZOOM, metadata={WHERE[kind]: source} | dated)


def _matrices(comparison: SavedComparison, raster: bool) -> list[PicturePlan]:
    return [matrix.plan_of([head], comparison.view, raster, comparison.bound if name == "difference" else None)
            for name, head in zip(NAMES, comparison.shown, strict=True)]


def _over_pictures(comparison: SavedComparison) -> list[PicturePlan]:
    """The row in focus over the first picture, over the second, and the difference over the second. Raises ValueError
    for a comparison of texts."""
    plans, kind = [], comparison.view.kind
    for place, values in enumerate(comparison.values):
        record = comparison.records[min(place, 1)]
        patches, focus = patches_of(record, kind), comparison.view.token or 0
        name = WORDS["times"] if values.kind == "weight" else values.what
        plans.append(over_picture.plan_of(
            patches.picture, patches.boxes, values.shares, focus=focus, hidden=hidden_tokens(record), notes=(),
            orientation=WORDS["picture"].format(a=patches.texts[focus]),
            colours=over_picture.Colours(tuple(values.ticks), name, values.kind == "signed")))
    return plans


def as_csv(shown: tuple[DisplayedHead, ...]) -> bytes:
    """Each aligned pair of tokens with its weight in the first, in the second, and the difference, empty where one side
    has no such token; UTF-8, CRLF (RFC 4180), text harmless for spreadsheets."""
    from pandas import DataFrame, MultiIndex

    rows, columns = ([guard_cell(unit.text) for unit in units] for units in (shown[0].rows, shown[0].columns))
    groups = MultiIndex.from_product([range(len(rows)), range(len(columns))], names=["from group", "to group"])
    frame = DataFrame({name: head.weights.ravel() for name, head in zip(NAMES, shown, strict=True)}, groups)
    frame = frame.reset_index()
    frame.insert(0, "from", np.repeat(rows, len(columns)))
    frame.insert(1, "to", columns * len(rows))
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\r\n").encode("utf-8")
