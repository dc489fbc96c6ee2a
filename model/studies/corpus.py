"""Read texts one by one from a user's .txt, .csv or .jsonl file in UTF-8."""
import csv
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import PurePath
from typing import Any, BinaryIO

from model.core.limits import LIMITS, parse_json
from model.core.query import UserError

SUFFIXES = (".txt", ".csv", ".jsonl")
FIELD = "text"
PEEK = 20        # number of rows inspected to find the columns with texts
OTHER_CODES = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip", b"PK\x03\x04": "ZIP", b"%PDF-": "PDF"}


def texts(file: BinaryIO, name: str, field: str = FIELD) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, text) for every non-blank text. `name` has an extension in SUFFIXES. `field` is the CSV
    column or JSONL field to read; the default FIELD also accepts the only one with texts. Raises UserError for invalid
    content and, at the end of the file, if there were no texts."""
    reader = {".txt": _plain, ".csv": _table, ".jsonl": _objects}.get(PurePath(name).suffix.lower())
    if reader is None:
        raise UserError(f"{name} has no known file extension; end its name in {', '.join(SUFFIXES)}.")
    any_text = False
    for line, text in reader(lines(file, name), name, field):
        LIMITS.refuse_above("corpus_text", len(text), f"{name}, line {line}: the text", "split it")
        if text.strip():
            any_text = True
            yield line, text
    if not any_text:
        raise UserError(f"{name} contains no text; write one text per line.")


def lines(file: BinaryIO, name: str, way_out: str = "write one text a line") -> Iterator[tuple[int, str]]:
    """Yield (number, decoded line including its line ending), without a byte order mark. way_out: advice for the error
    about an overlong line. Raises UserError for anything but UTF-8 text."""
    number = 0
    while raw := file.readline(LIMITS.corpus_line + 1):
        number += 1
        if number == 1:
            code = next((code for start, code in OTHER_CODES.items() if raw.startswith(start)), None)
            if code is not None:
                raise UserError(f"{name} is {code}, not UTF-8 text; save it as UTF-8 and try again.")
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        LIMITS.refuse_above("corpus_line", len(raw), f"{name}, line {number}: the line", way_out)
        if b"\0" in raw:
            raise UserError(f"{name}, line {number}: there is a zero byte, so this is not a text file; choose a file "
                            f"of texts in UTF-8.")
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} (0x{raw[error.start]:02X})"
            raise UserError(f"{name}, line {number}: {byte} is not UTF-8; save the file as UTF-8.") from error


def _plain(lines: Iterator[tuple[int, str]], name: str, field: str) -> Iterator[tuple[int, str]]:
    return ((number, line.rstrip("\r\n")) for number, line in lines)


def _table(lines: Iterator[tuple[int, str]], name: str, field: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for the rows of a CSV (RFC 4180). A row with a multi-line cell has the number of its last
    line."""
    reader = csv.reader((line for _, line in lines), strict=True)
    try:
        header = next(reader, [])
        rows = ((reader.line_num, row) for row in reader)
        first = list(islice(rows, PEEK))
        place = header.index(_chosen(field, header, _with_texts(header, first), f"{name}, line 1"))
        for number, row in chain(first, rows):
            yield number, row[place] if place < len(row) else ""
    except csv.Error as error:
        raise UserError(f"{name}, line {reader.line_num}: this is not CSV ({error}); save the table again as "
                        f"CSV.") from error


def _objects(lines: Iterator[tuple[int, str]], name: str, field: str) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = parse_json(line.encode(), f"{name}, line {number}: the line")
        except ValueError as error:
            raise UserError(f"{name}, line {number}: this is not JSON; write one object per line, with a field "
                            f"{field!r}.") from error
        if isinstance(value, dict):
            value = value[_chosen(field, list(value), _strings(value), f"{name}, line {number}")]
        if not isinstance(value, str):
            raise UserError(f"{name}, line {number}: there is no text under {field!r}; write one object per line, with "
                            f"the text in that field.")
        yield number, value


def rows(file: BinaryIO, name: str) -> Iterator[dict[str, Any]]:
    """Yield every row of a CSV file or object of a JSONL file, with all columns. Raises UserError for any other
    extension and for invalid content."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".csv":
        try:
            yield from csv.DictReader((line for _, line in lines(file, name)), strict=True)
        except csv.Error as error:
            raise UserError(f"{name}: this is not CSV ({error}); save the table again as CSV.") from error
    elif suffix == ".jsonl":
        for number, line in lines(file, name):
            if line.strip():
                try:
                    value = parse_json(line.encode(), f"{name}, line {number}: the line")
                except ValueError:
                    value = None
                if not isinstance(value, dict):
                    raise UserError(f"{name}, line {number}: this is not a JSON object; write one object per line.")
                yield value
    else:
        raise UserError(f"{name} has no known file extension; end its name in .csv or .jsonl.")


def columns(file: BinaryIO, name: str) -> list[str]:
    """Return the CSV columns, or the fields of the first JSONL object, that contain texts; [] for a TXT file. Raises
    UserError like `texts`."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".csv":
        reader = csv.reader((line for _, line in lines(file, name)))
        try:
            return _with_texts(next(reader, []), [(0, row) for row in islice(reader, PEEK)])
        except csv.Error:
            return []   # `texts` reports the error
    if suffix == ".jsonl":
        with suppress(ValueError):
            first = next((line for _, line in lines(file, name) if line.strip()), "")
            return _strings(parse_json(first.encode(), name))
    return []


def _with_texts(header: list[str], rows: list[tuple[int, list[str]]]) -> list[str]:
    """Return the columns that have a cell with text rather than a number."""
    cells = {column: [row[place] for _, row in rows if place < len(row)] for place, column in enumerate(header)}
    return [column for column, values in cells.items() if any(map(_is_text, values))]


def _is_text(cell: str) -> bool:
    try:
        float(cell or "0")
    except ValueError:
        return bool(cell.strip())
    return False


def _strings(value: object) -> list[str]:
    return [key for key, each in value.items() if isinstance(each, str)] if isinstance(value, dict) else []


def _chosen(field: str, known: list[str], of_texts: list[str], place: str) -> str:
    """Return the column to read. Raises UserError if it is missing, unless exactly one column has texts."""
    if field in known:
        return field
    if field == FIELD and len(of_texts) == 1:
        return of_texts[0]
    raise UserError(f"{place}: there is no column {field!r} in {', '.join(known)[:200] or 'none'}; choose the one "
                    f"with the texts (on the command line with --column).")
