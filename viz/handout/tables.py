"""A table as JSON, what it may hold, and as HTML."""
import html
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from viz.handout.validation import require, safely, text
from viz.text import show_invisibles

ROWS, COLUMNS, MOST = 2000, 40, 2 * 2**20   # bytes of one table
NAME = 28   # letters of a name that is never broken


def body_of(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The body of a table: {"columns": [names], "rows": [[text, number or nothing]]}. Every row has the columns of the
    first."""
    names = list(rows[0])
    cells = [[_cell(row[name]) for name in names] for row in rows]
    return json.dumps({"columns": names, "rows": cells}, allow_nan=False, separators=(",", ":")).encode("ascii")


def _cell(value: Any) -> str | float | None:
    """numpy's numbers as numbers with the six digits that count; what is not finite as nothing."""
    if value is None or isinstance(value, str):
        return value
    found = value.item() if hasattr(value, "item") else value
    if isinstance(found, float):
        return float(f"{found:.6g}") if math.isfinite(found) else None
    return found if isinstance(found, int) else str(found)


@safely
def check_table(body: bytes, state: bytes) -> tuple[bytes, bytes]:
    """The body anew, and no state. Raises UserError for what is not such a table."""
    require(len(body) <= MOST and not state)
    names, rows = table_of(body)
    require(0 < len(names) <= COLUMNS and len(set(names)) == len(names) and 0 < len(rows) <= ROWS)
    for row in rows:
        require(len(row) == len(names) and all(cell is None or isinstance(cell, (str, int, float)) for cell in row))
    return body_of([dict(zip(map(text, names), row, strict=True)) for row in rows]), b""


def table_of(body: bytes) -> tuple[list[str], list[list[str | float | None]]]:
    """Names of the columns, rows of cells."""
    found = json.loads(body)
    return found["columns"], found["rows"]


def as_html(body: bytes) -> str:
    """A table whose heads sort it (viz/components/handout/table.js); without scripts it is read as it is."""
    names, rows = table_of(body)
    numbers = [all(isinstance(row[place], (int, float)) or row[place] is None for row in rows)
               for place in range(len(names))]
    heads = "".join(f'<th{_right(number)} scope="col"><button type="button">{_said(name)}</button></th>'
                    for name, number in zip(names, numbers, strict=True))
    digits = [_decimals([row[place] for row in rows]) for place in range(len(names))]
    kinds = [_right(number) or _short([row[place] for row in rows]) for place, number in enumerate(numbers)]
    lines = "".join("<tr>" + "".join(f"<td{kind}>{_said(cell, places)}</td>"
                                     for cell, kind, places in zip(row, kinds, digits, strict=True)) + "</tr>"
                    for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _right(number: bool) -> str:
    return ' class="number"' if number else ""


def _short(cells: Sequence[str | float | None]) -> str:
    """A column of names stays on its lines; one of sentences may break."""
    return ' class="name"' if all(len(str(cell)) <= NAME for cell in cells) else ""


def _decimals(cells: Sequence[str | float | None]) -> int:
    """As many behind the point in the whole column as give its largest number four digits that count."""
    largest = max((abs(cell) for cell in cells if isinstance(cell, float)), default=0.0)
    return max(0, min(3 - math.floor(math.log10(largest)), 12)) if largest else 0


def _said(cell: str | float | None, places: int = 0) -> str:
    if isinstance(cell, float):
        return f"{cell:.{places}f}"
    return "–" if cell is None else html.escape(show_invisibles(str(cell)))
