"""A table as JSON, what it may hold, and as HTML."""
import html
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from model.core.limits import LIMITS, parse_json
from viz.handout.validation import require, safely, text
from viz.text import show_invisibles

if TYPE_CHECKING:
    from pandas import DataFrame

NAME = 28   # letters of a name that is never broken


def body_of(table: "DataFrame") -> bytes:
    """The body of a table: {"columns": [names], "rows": [[text, number or nothing]]}, without its index."""
    cells = [[_cell(cell) for cell in row] for row in table.itertuples(index=False, name=None)]
    return json.dumps({"columns": list(table), "rows": cells}, allow_nan=False, separators=(",", ":")).encode("ascii")


def _cell(value: Any) -> str | float | None:
    """numpy's numbers as numbers with the six digits that count; what is not finite as nothing."""
    if value is None or isinstance(value, str):
        return value
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        return float(f"{plain:.6g}") if math.isfinite(plain) else None
    return plain if isinstance(plain, int) else str(plain)


@safely
def check_table(body: bytes, state: bytes) -> tuple[bytes, bytes]:
    """The body anew, and no state. Raises UserError for what is not such a table."""
    whose, way_out = "A table of this handout", "take it out"
    LIMITS.refuse_above("table_bytes", len(body), whose, way_out)
    table = parse_json(body, whose)
    names, rows = table["columns"], table["rows"]
    LIMITS.refuse_above("table_columns", len(names), whose, way_out)
    LIMITS.refuse_above("table_rows", len(rows), whose, way_out)
    require(not state and len(names) > 0 and len(set(names)) == len(names) and len(rows) > 0)
    for row in rows:
        require(len(row) == len(names) and all(cell is None or isinstance(cell, (str, int, float)) for cell in row))
    return body_of(table_of(body).rename(columns=text)), b""


def table_of(body: bytes) -> "DataFrame":
    """The table of a body that was checked, each cell as it was written."""
    from pandas import DataFrame

    table = json.loads(body)
    return DataFrame(table["rows"], columns=table["columns"], dtype=object)


def as_html(body: bytes) -> str:
    """A table whose heads sort it (viz/components/handout/table.js); without scripts it is read as it is."""
    table = table_of(body)
    columns = [table[name].tolist() for name in table]
    numbers = [all(cell is None or isinstance(cell, (int, float)) for cell in cells) for cells in columns]
    heads = "".join(f'<th{_right(number)} scope="col"><button type="button">{_said(name)}</button></th>'
                    for name, number in zip(table, numbers, strict=True))
    digits = [_decimals(cells) for cells in columns]
    kinds = [_right(number) or _short(cells) for cells, number in zip(columns, numbers, strict=True)]
    lines = "".join("<tr>" + "".join(f"<td{kind}>{_said(cell, places)}</td>"
                                     for cell, kind, places in zip(row, kinds, digits, strict=True)) + "</tr>"
                    for row in zip(*columns, strict=True))
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
        return f"{cell:z.{places}f}"
    return "–" if cell is None else html.escape(show_invisibles(str(cell)))
