"""Read texts one by one from a user's .txt, .csv or .jsonl file in UTF-8."""
import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import PurePath
from typing import BinaryIO

from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.query import UserError

SUFFIXES = (".txt", ".csv", ".jsonl")
FIELD = "text"
PEEK = 20        # number of rows inspected to find the columns with texts


def texts(file: BinaryIO, name: str, field: str = FIELD) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, text) for every non-blank text. `field` is the CSV column or JSONL field to read; the default
    FIELD also accepts the only one with texts. Raises UserError for invalid content and, at the end of the file, if
    there were no texts."""
    given = rows(file, name)
    first = list(islice(given, PEEK))
    known, of_texts = _columns(first)
    column = of_texts[0] if field == FIELD and field not in known and len(of_texts) == 1 else field
    if first and column not in known:
        raise UserError(f"{name}: there is no column {field!r} in {', '.join(known)[:200] or 'none'}; choose the one "
                        f"with the texts (on the command line with --column).")
    any_text = False
    for line, row in chain(first, given):
        text = row.get(column)
        if not isinstance(text, str):
            raise UserError(f"{name}, line {line}: there is no text under {column!r}; write one object per line, with "
                            f"the text in that field.")
        LIMITS.refuse_above("corpus_text", len(text), f"{name}, line {line}: the text", "split it")
        if text.strip():
            any_text = True
            yield line, text
    if not any_text:
        raise UserError(f"{name} contains no text; write one text per line.")


def rows(file: BinaryIO, name: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield (line from 1, row) for every row of a CSV file (RFC 4180), value of a JSONL file or line of a text file,
    except blank ones; a value without columns is {FIELD: value}. A row with a multi-line cell has the number of its
    last line. Raises UserError for any other extension and for invalid content."""
    suffix, numbered = PurePath(name).suffix.lower(), lines(file, name)
    if suffix not in SUFFIXES:
        raise UserError(f"{name} has no known file extension; end its name in {', '.join(SUFFIXES)}.")
    if suffix == ".csv":
        table = csv.DictReader((line for _, line in numbered), strict=True, restval="")
        try:
            for row in table:
                yield table.line_num, row
        except csv.Error as error:
            raise UserError(f"{name}, line {table.reader.line_num}: this is not CSV ({error}); save the table again as "
                            f"CSV.") from error
    for number, line in numbered:   # a CSV file has no lines left
        if not line.strip():
            continue
        value: object = line.rstrip("\r\n")
        if suffix == ".jsonl":
            try:
                value = parse_json(line.encode(), f"{name}, line {number}: the line")
            except ValueError as error:
                raise UserError(f"{name}, line {number}: this is not JSON; write one object per line.") from error
        yield number, value if isinstance(value, dict) else {FIELD: value}


def columns(file: BinaryIO, name: str) -> list[str]:
    """Return the columns or fields that contain texts; [] for a TXT file and for one that `texts` refuses."""
    try:
        return [] if PurePath(name).suffix.lower() == ".txt" else _columns(islice(rows(file, name), PEEK))[1]
    except UserError:
        return []


def _columns(rows: Iterable[tuple[int, dict[str, object]]]) -> tuple[list[str], list[str]]:
    """Return all columns, and those that have a cell with text rather than a number."""
    cells: dict[str, list[object]] = {}
    for _, row in rows:
        for column, cell in row.items():
            if column is not None:   # cells beyond the header
                cells.setdefault(column, []).append(cell)
    return list(cells), [column for column, values in cells.items() if any(map(_is_text, values))]


def _is_text(cell: object) -> bool:
    if not isinstance(cell, str) or not cell.strip():
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def lines(file: BinaryIO, name: str, way_out: str = "write one text a line") -> Iterator[tuple[int, str]]:
    """Yield (number, decoded line including its line ending), without a byte order mark. way_out: advice for the error
    about an overlong line. Raises UserError for anything but UTF-8 text."""
    number = 0
    while raw := file.readline(LIMITS.corpus_line + 1):
        number += 1
        LIMITS.refuse_above("corpus_line", len(raw), f"{name}, line {number}: the line", way_out)
        try:
            line = raw.decode("utf-8" if number > 1 else "utf-8-sig")
        except UnicodeDecodeError:
            line = "\0"
        if "\0" in line:
            raise UserError(f"{name}, line {number}: this is not text in UTF-8; save the file as UTF-8.")
        yield number, line
