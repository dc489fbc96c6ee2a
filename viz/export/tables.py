"""Write CSV for spreadsheets and scripts: the open head, a comparison, and the table of heads.

The files are UTF-8 with a byte order mark and use commas and CRLF (RFC 4180). Spreadsheets execute cells that begin
with = + - @, so an apostrophe is inserted before such a cell, or before apostrophes followed by such a character; the
token ' is unchanged. The same applies after semicolons, tabs and line breaks, which separate cells in some locales.
Removing one apostrophe at each of these positions restores the token. NUL and lone surrogates, which are invalid in
UTF-8, are written as U+0000 and so on.
"""
import csv
import io
import re
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.heads import ENCODING
from clearhead.model.core.heads import as_csv as frame_as_csv
from clearhead.model.core.query import UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import MAX_UNPOOLED, DisplayedHead, View, displayed_head

if TYPE_CHECKING:   # the first page does not need these modules
    from pandas import DataFrame

    from clearhead.model.core.heads import HeadMeasures
    from clearhead.model.studies.patterns import HeadFits
    from clearhead.model.studies.silencing import Silencing
    from clearhead.viz.figures.drawing import FigureSpec

SIDES = ("first", "second", "difference")   # the parts of a comparison
ACTS = "=+-@＝＋－＠\t\r\n"   # characters that make a spreadsheet execute a cell, including full-width ones
BEGINS = r"(\A|[;\t\r\n])"   # positions that a spreadsheet may treat as the start of a cell
RUNS = f"(?='* *[{re.escape(ACTS)}])"   # matches cells that would be executed or look like guarded cells


def guard_cell(text: str) -> str:
    """Guard a text cell against execution by spreadsheets."""
    plain = "".join(f"U+{ord(sign):04X}" if sign == "\0" or "\ud800" <= sign <= "\udfff" else sign for sign in text)
    return re.sub(BEGINS + RUNS, r"\1'", plain)


def head_csv(record: AttentionRecord, view: View) -> bytes:
    """Return the open head as CSV: a header with the key tokens, then a row per query with its token and a weight per
    key.

    Weights have the fewest digits that restore the same float32; fully masked rows have no numbers. Rows are queries
    even if the picture is transposed; the view's word grouping and filters apply. pandas reads the tokens, including
    "NA", with `read_csv(file, dtype={"query": str}, keep_default_na=False)`. Raises UserError if the view cannot be
    shown.
    """
    longest = max(len(record[view.kind].queries), len(record[view.kind].keys)) if view.kind in record.kinds else 0
    if longest > MAX_UNPOOLED:
        raise UserError(f"A table of {longest:,} × {longest:,} weights is too large for a spreadsheet; shorten the "
                        f"text to {MAX_UNPOOLED:,} tokens.")
    shown = displayed_head(record, view)
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(["query", *(guard_cell(unit.text) for unit in shown.columns)])
    for row, (unit, weights) in enumerate(zip(shown.rows, shown.weights, strict=True)):
        cells = [""] * len(weights) if row in shown.blind else map(str, weights)
        writer.writerow([guard_cell(unit.text), *cells])
    return table.getvalue().encode(ENCODING)


def comparison_csv(shown: tuple[DisplayedHead, ...]) -> bytes:
    """Return a CSV row for each aligned pair of tokens: its weight in the first head, its weight in the second, and the
    difference. A weight is empty if that side lacks a token."""
    from pandas import DataFrame, MultiIndex

    rows, columns = ([guard_cell(unit.text) for unit in units] for units in (shown[0].rows, shown[0].columns))
    groups = MultiIndex.from_product([range(len(rows)), range(len(columns))], names=["from group", "to group"])
    frame = DataFrame({name: head.weights.ravel() for name, head in zip(SIDES, shown, strict=True)}, groups)
    frame = frame.reset_index()
    frame.insert(0, "from", np.repeat(rows, len(columns)))
    frame.insert(1, "to", columns * len(rows))
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\r\n").encode(ENCODING)


def head_table(measures: "HeadMeasures", fits: "HeadFits", silencing: "Silencing | None") -> "DataFrame":
    """Return a table of all heads, in model order, indexed by (layer, head), with the columns pattern, fit, silenced
    (if measured) and the measures."""
    table = fits.best()
    return (table if silencing is None else table.join(silencing.frame())).join(measures.frame())


def head_table_csv(measures: "HeadMeasures", fits: "HeadFits", silencing: "Silencing | None") -> bytes:
    """Return `head_table` as CSV, with the fits of all patterns and the measures' values for uniform weights added.
    Numbers have the fewest digits that restore them."""
    table = head_table(measures, fits, silencing)
    if silencing is not None:
        table = table.rename(columns={"silenced": f"silenced_{silencing.measure}"})
    table = table.join(measures.uniform_frame().add_prefix("uniform_")).join(fits.frame().add_prefix("fit_"))
    return frame_as_csv(table)


def chart_csv(drawn: "FigureSpec") -> bytes:
    """Return a chart's numbers as CSV with columns series, x, y and value."""
    from clearhead.viz.figures.drawing import figure_rows

    table = io.StringIO(newline="")
    csv.writer(table).writerows([[guard_cell(cell) if isinstance(cell, str) else cell for cell in row]
                                 for row in figure_rows(drawn)])
    return table.getvalue().encode(ENCODING)
