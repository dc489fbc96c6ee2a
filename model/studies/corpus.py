"""Every measure of every head, averaged over many texts: in batches, as running means, so that a file of any length
takes one text's memory.

Means and sums of squared deviations are merged as Chan, Golub & LeVeque 1979 do, equation (2.1); batches of the same
texts in the same order give the same bits, whether or not the work was stopped between them. """
import csv
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from model.core import measures
from model.core.limits import LIMITS, parse_json
from model.core.models import Models
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionRecord
from model.core.types import HeadId, Progress, quiet
from model.studies import patterns

if TYPE_CHECKING:
    from pandas import DataFrame


SUFFIXES = (".txt", ".csv", ".jsonl")
FIELD = "text"
PEEK = 20        # rows by which a column is known as one of texts
OTHER_CODES = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip", b"PK\x03\x04": "ZIP", b"%PDF-": "PDF"}


def texts(file: BinaryIO, name: str, field: str = FIELD) -> Iterator[tuple[int, str]]:
    """(line, text) of every text that is not blank; the line counts from 1. `name` ends in one of SUFFIXES; `field` is
    the CSV's column or the JSONL's field; where there is none called FIELD, the only one with texts is taken. Raises
    UserError, at the latest at the end for a file without a text."""
    reader = {".txt": _plain, ".csv": _table, ".jsonl": _objects}.get(PurePath(name).suffix.lower())
    if reader is None:
        raise UserError(f"{name} does not say what it is; end its name in {', '.join(SUFFIXES)}.")
    any_text = False
    for line, text in reader(lines(file, name), name, field):
        LIMITS.refuse_above("corpus_text", len(text), f"{name}, line {line}: the text", "split it")
        if text.strip():
            any_text = True
            yield line, text
    if not any_text:
        raise UserError(f"{name} has no text in it; write one text a line.")


def lines(file: BinaryIO, name: str, way_out: str = "write one text a line") -> Iterator[tuple[int, str]]:
    """(number, line with its end), decoded; a byte order mark of UTF-8 is left out. way_out: of a line that is too
    long. Raises UserError for what is no UTF-8 text."""
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
            raise UserError(f"{name}, line {number}: there is a zero byte, so this is no text file; choose a file of "
                            f"texts in UTF-8.")
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} (0x{raw[error.start]:02X})"
            raise UserError(f"{name}, line {number}: {byte} is not UTF-8; save the file as UTF-8.") from error


def _plain(lines: Iterator[tuple[int, str]], name: str, field: str) -> Iterator[tuple[int, str]]:
    return ((number, line.rstrip("\r\n")) for number, line in lines)


def _table(lines: Iterator[tuple[int, str]], name: str, field: str) -> Iterator[tuple[int, str]]:
    """RFC 4180: a quoted cell may go over several lines; its row has the number of its last."""
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
            raise UserError(f"{name}, line {number}: this is not JSON; write one object a line, with a field "
                            f"{field!r}.") from error
        if isinstance(value, dict):
            value = value[_chosen(field, list(value), _strings(value), f"{name}, line {number}")]
        if not isinstance(value, str):
            raise UserError(f"{name}, line {number}: there is no text under {field!r}; write one object a line, with "
                            f"the text in that field.")
        yield number, value


def columns(file: BinaryIO, name: str) -> list[str]:
    """The columns of a CSV, or the fields of a JSONL's first object, that hold texts; none of a TXT. Raises UserError
    as `texts` does."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".csv":
        reader = csv.reader((line for _, line in lines(file, name)))
        try:
            return _with_texts(next(reader, []), [(0, row) for row in islice(reader, PEEK)])
        except csv.Error:
            return []   # `texts` says what is wrong
    if suffix == ".jsonl":
        with suppress(ValueError):
            first = next((line for _, line in lines(file, name) if line.strip()), "")
            return _strings(parse_json(first.encode(), name))
    return []


def _with_texts(header: list[str], rows: list[tuple[int, list[str]]]) -> list[str]:
    """The columns in which some cell is no number."""
    cells = {column: [row[place] for _, row in rows if place < len(row)] for place, column in enumerate(header)}
    return [column for column, values in cells.items() if any(map(_is_text, values))]


def _is_text(cell: str) -> bool:
    try:
        float(cell or "0")
    except ValueError:
        return bool(cell.strip())
    return False


def _strings(value: Any) -> list[str]:
    return [key for key, each in value.items() if isinstance(each, str)] if isinstance(value, dict) else []


def _chosen(field: str, known: list[str], of_texts: list[str], place: str) -> str:
    """The column to read. Raises UserError where it is not there, and no other is the only one with texts."""
    if field in known:
        return field
    if field == FIELD and len(of_texts) == 1:
        return of_texts[0]
    raise UserError(f"{place}: there is no column {field!r} among {', '.join(known)[:200] or 'none'}; choose the one "
                    f"with the texts, on the command line with --column.")


BATCH = 8        # texts that are one question: the desk serves others in between
FIT = "fit_"     # before a pattern's name


@dataclass(frozen=True)
class TextsQuery:
    """Some texts of a file put to one model."""

    model: str
    revision: str
    kind: Kind | None                    # None: the first kind of attention that the model has
    texts: tuple[tuple[int, str], ...]   # (line in the file, text)

    def answer(self, models: Models, report: Progress) -> "Averages":
        """The averages over these texts. Raises UserError, with the line, for a text that the model cannot read."""
        opened = models.open(self, report)
        return run(self, lambda query: opened.record(query, quiet), report)


@dataclass(frozen=True, eq=False)
class Averages:
    """Running means of every measure of every head. A number that a text does not have, such as the fit of a pattern it
    has no room for, is not counted."""

    kind: Kind                  # of attention
    heads: tuple[HeadId, ...]   # in the order of the arrays
    names: tuple[str, ...]      # of the measures, and FIT + the name of each pattern
    count: np.ndarray           # texts that have the number, float64 (name, head)
    mean: np.ndarray            # over these, float64 (name, head)
    squares: np.ndarray         # summed squared deviations from the mean, float64 (name, head)
    texts: int = 0              # that were read
    tokens: int = 0             # of all of them
    cut: int = 0                # texts that were longer than the model reads

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return 3 * self.mean.nbytes

    @property
    def spread(self) -> np.ndarray:
        """The standard deviation over texts (n − 1), float64 (name, head); NaN for fewer than two texts."""
        return np.sqrt(np.divide(self.squares, self.count - 1, out=np.full(self.mean.shape, np.nan),
                                 where=self.count > 1))

    @property
    def means(self) -> np.ndarray:
        """The means, NaN where no text has the number, float64 (name, head)."""
        return np.where(self.count > 0, self.mean, np.nan)

    def by_head(self, name: str) -> dict[HeadId, float]:
        """{(layer, head): mean} of the heads that have one."""
        return measures.by_head(self.heads, self.means[self.names.index(name)])

    def best(self) -> "DataFrame":
        """`patterns.best_patterns` by the mean fit, among those that at least half of the texts have room for."""
        fits = np.where(2 * self.count >= self.texts, self.mean, np.nan)
        return patterns.best_patterns(measures.head_frame(self.heads, {
            name.removeprefix(FIT): row for name, row in zip(self.names, fits, strict=True) if name.startswith(FIT)}))

    def frame(self) -> "DataFrame":
        """One row a head: pattern and fit, as `best` gives them, and of every measure and fit NAME_mean and NAME_sd
        over the texts that have it, in the measure's unit, and NAME_n, how many texts these are; fit_n is that of the
        best pattern."""
        counts = self.count.astype(np.int64)
        numbers = {f"{name}_{what}": row
                   for name, *rows in zip(self.names, self.means, self.spread, counts, strict=True)
                   for what, row in zip(("mean", "sd", "n"), rows, strict=True)}
        best = self.best()
        fit_n = [counts[self.names.index(FIT + pattern), head] for head, pattern in enumerate(best["pattern"])]
        return best.assign(fit_n=fit_n).join(measures.head_frame(self.heads, numbers))


def averages_of(record: AttentionRecord, kind: Kind) -> Averages:
    """The averages over one text."""
    attention_map = record[kind]
    measured, fits = measures.measure(attention_map), patterns.fit(attention_map).fits
    no_fit = np.full(len(measured.heads), np.nan)
    numbers = measured.values | {FIT + pattern.name: fits.get(pattern.name, no_fit) for pattern in patterns.PATTERNS}
    table = np.array(list(numbers.values()))
    there = np.isfinite(table)
    return Averages(kind, measured.heads, tuple(numbers), there.astype(np.float64), np.where(there, table, 0),
                    np.zeros(table.shape), 1, len(attention_map.queries), int(record.omitted is not None))


def merge(first: Averages, second: Averages) -> Averages:
    """Both together. Raises ValueError unless they have the same heads and measures."""
    if (first.kind, first.heads, first.names) != (second.kind, second.heads, second.names):
        raise ValueError("merged: expected two averages of the same heads and measures; ask one model for one kind of "
                         "attention.")
    count = first.count + second.count
    share = np.divide(second.count, count, out=np.zeros(count.shape), where=count > 0)
    apart = second.mean - first.mean
    return Averages(first.kind, first.heads, first.names, count, first.mean + apart * share,
                    first.squares + second.squares + apart**2 * first.count * share,
                    first.texts + second.texts, first.tokens + second.tokens, first.cut + second.cut)


def run(question: TextsQuery, ask: Callable[[Query], AttentionRecord], report: Progress) -> Averages:
    """The averages over the texts of a question; `ask` gives a query's record. Raises UserError, with the line, for a
    text that the model cannot read."""
    total = None
    for done, (line, text) in enumerate(question.texts):
        report(done / len(question.texts), f"line {line}")
        try:
            record = ask(Query(question.model, question.revision, text))
        except UserError as error:
            raise UserError(f"line {line}: {error}") from error
        kind = question.kind or record.kinds[0]
        if kind not in record.kinds:
            raise UserError(f"{record.card.title} has no {kind} attention; choose {' or '.join(record.kinds)}.")
        here = averages_of(record, kind)
        total = here if total is None else merge(total, here)
    if total is None:
        raise ValueError("run: expected at least one text, got none; ask only for texts that are there.")
    return total


def as_object(found: Averages) -> dict[str, Any]:
    """The averages as a dict that JSON keeps exactly; `from_object` reads it."""
    arrays = {name: getattr(found, name).tolist() for name in ("count", "mean", "squares")}
    return {"kind": found.kind.value, "places": found.heads, "names": found.names, **arrays,
            "texts": found.texts, "tokens": found.tokens, "cut": found.cut}


def from_object(found: dict[str, Any]) -> Averages:
    """The averages in such a dict. Raises ValueError, KeyError or TypeError for any other dict."""
    arrays = [np.array(found[name], np.float64) for name in ("count", "mean", "squares")]
    heads, names = tuple((int(layer), int(head)) for layer, head in found["places"]), tuple(map(str, found["names"]))
    if any(array.shape != (len(names), len(heads)) or not np.isfinite(array).all() for array in arrays):
        raise ValueError("from_object: expected finite arrays (name, head), got others.")
    return Averages(Kind(found["kind"]), heads, names, arrays[0], arrays[1], arrays[2], int(found["texts"]),
                    int(found["tokens"]), int(found["cut"]))


def as_csv(found: Averages, provenance: dict[str, Any]) -> str:
    """A CSV (RFC 4180) with one row a head: layer, head, the pattern with the best mean fit, and mean, standard
    deviation and number of texts of every measure and fit, in the fewest digits that give back the number. The first
    row's last cell holds the provenance as JSON."""
    frame = found.frame()
    frame.insert(0, "texts", found.texts)
    return measures.as_csv(frame, json.dumps(provenance | {"kind": found.kind.value, "texts": found.texts,
                                                         "tokens": found.tokens, "cut": found.cut}))
