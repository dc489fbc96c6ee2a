"""CSV: the open head's numbers for spreadsheets and scripts. The provenance is the last column of the first data row.

UTF-8 without a byte order mark, comma, CRLF (RFC 4180). The header holds the key tokens, in order, so that two equal
tokens are two columns; each row is one query: its token, then one weight a key, in the fewest digits that give back the
same float32, or no numbers where the row sees nothing. Rows are queries however the picture is turned; words and
filters are those of the view.

Text cells are made harmless for spreadsheets, which run what begins with = + - @: such a cell gets an apostrophe before
it, and so does one where apostrophes precede such a sign; a token ' stays as it is. The same holds after a semicolon, a
tab and a new line, which a spreadsheet of another country takes for the end of a cell. `unguard_cell` (drop one
apostrophe at each of these places) gives back the token. NUL and lone surrogates, which no UTF-8 reader takes, are
written U+0000 and so on; the text itself is unchanged in the provenance. pandas reads the tokens, "NA" among them, with
`read_csv(file, dtype={"query": str}, keep_default_na=False)`, but tells equal keys apart by .1, .2 and so on. """
import csv
import io
import re

from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import MAX_UNPOOLED, View, displayed_head
from viz import provenance
from viz.export import Format
from viz.print.options import PLAIN, Options

FORMAT = Format("CSV", ".csv", "text/csv", ("numbers",), "the open head's numbers, for spreadsheets")
ACTS = "=+-@＝＋－＠\t\r\n"   # what makes a spreadsheet run a cell, full width too
BEGINS = r"(\A|[;\t\r\n])"   # where a spreadsheet may take a cell to begin
RUNS = f"(?='* *[{re.escape(ACTS)}])"   # that it would run the cell, or that the cell looks like a guarded one


def guard_cell(text: str) -> str:
    """The text as a cell that no spreadsheet runs."""
    plain = "".join(f"U+{ord(sign):04X}" if sign == "\0" or "\ud800" <= sign <= "\udfff" else sign for sign in text)
    return re.sub(BEGINS + RUNS, r"\1'", plain)


def unguard_cell(cell: str) -> str:
    """The text that `guard_cell` was given."""
    return re.sub(f"{BEGINS}'{RUNS}", r"\1", cell)


def export(record: AttentionRecord, view: View, options: Options = PLAIN) -> bytes:
    """The open head as a table. Raises UserError where the view cannot be shown."""
    longest = max(len(record[view.kind].queries), len(record[view.kind].keys)) if view.kind in record.kinds else 0
    if longest > MAX_UNPOOLED:
        raise UserError(f"A table of {longest:,} × {longest:,} weights is more than a spreadsheet opens; shorten the "
                        f"text to {MAX_UNPOOLED:,} tokens.")
    shown = displayed_head(record, view)
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(["query", *(guard_cell(unit.text) for unit in shown.columns), "provenance"])
    last = provenance.dumps(record, view, options.link)
    for row, (unit, weights) in enumerate(zip(shown.rows, shown.weights, strict=True)):
        cells = [""] * len(weights) if row in shown.blind else map(str, weights)
        writer.writerow([guard_cell(unit.text), *cells, last])
        last = ""
    return table.getvalue().encode("utf-8")
