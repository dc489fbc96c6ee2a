"""A comparison as a file: the first head, the second and their difference as one picture, or their numbers as CSV."""
import csv
import io
import json
import math
from dataclasses import dataclass

from model.core.displayed import DisplayedHead
from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance
from viz.export.csv import guard_cell
from viz.print import matrix
from viz.print.layout import WORDS
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


def picture(found: SavedComparison, kind: str) -> bytes:
    """All three on one page as png, svg or pdf, with where they come from. Raises UserError where a PNG would be too
    large."""
    said = [provenance.sentences(record, found.link) for record in found.records]
    source = json.dumps([json.loads(provenance.dumps(record, found.view, found.link)) for record in found.records])
    words = [" · ".join(part) for texts, lines in said for part in (texts, lines)]
    with pen():
        plans = [matrix.plan_of([each], found.view, kind == "png", found.bound if name == "difference" else None)
                 for name, each in zip(NAMES, found.shown, strict=True)]
        drawn = pictures_beside(plans, list(found.titles), WORDS["comparison"],
                                list(dict.fromkeys(filter(None, words))))
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        return save(drawn, kind, ZOOM, metadata={WHERE[kind]: source} | dated)


def as_csv(shown: tuple[DisplayedHead, ...]) -> bytes:
    """Each aligned pair of tokens with its weight in the first, in the second, and the difference, empty where one side
    has no such token; UTF-8, CRLF (RFC 4180), text harmless for spreadsheets."""
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(["from", "to", "from group", "to group", *NAMES])
    for row, query in enumerate(shown[0].rows):
        for column, key in enumerate(shown[0].columns):
            numbers = ["" if math.isnan(value) else f"{value:.6g}"
                       for value in (float(each.weights[row, column]) for each in shown)]
            lines.writerow([guard_cell(query.text), guard_cell(key.text), row, column, *numbers])
    return text.getvalue().encode("utf-8", "replace")
