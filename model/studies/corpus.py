"""Every measure of every head, averaged over many texts: in batches, as running means, so that a file of any length
takes one text's memory.

Means and sums of squared deviations are merged as Chan, Golub & LeVeque 1979 do, equation (2.1); batches of the same
texts in the same order give the same bits, whether or not the work was stopped between them. """
import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core import measures
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionMap, AttentionRecord
from model.core.types import HeadId, Progress
from model.studies import patterns

BATCH = 8        # texts that are one question: the desk serves others in between
FIT = "fit_"     # before a pattern's name


@dataclass(frozen=True)
class TextsQuery:
    """Some texts of a file put to one model: answered by `Averages`."""

    model: str
    revision: str
    kind: Kind | None                    # None: the first kind of attention that the model has
    texts: tuple[tuple[int, str], ...]   # (line in the file, text)


@dataclass(frozen=True, eq=False)
class Averages:
    """Running means of every measure of every head. A number that a text does not have, such as the fit of a pattern it
    has no room for, is not counted."""

    kind: Kind                   # of attention
    places: tuple[HeadId, ...]   # the heads, in the order of the arrays
    names: tuple[str, ...]       # of the measures, and FIT + the name of each pattern
    count: np.ndarray            # texts that have the number, float64 (name, head)
    mean: np.ndarray             # over these, float64 (name, head)
    squares: np.ndarray          # summed squared deviations from the mean, float64 (name, head)
    texts: int = 0               # that were read
    tokens: int = 0              # of all of them
    cut: int = 0                 # texts that were longer than the model reads

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return 3 * self.mean.nbytes

    @property
    def spread(self) -> np.ndarray:
        """The standard deviation over texts (n − 1), float64 (name, head); NaN for fewer than two texts."""
        return np.sqrt(np.divide(self.squares, self.count - 1, out=np.full(self.mean.shape, np.nan),
                                 where=self.count > 1))

    def values(self, name: str) -> dict[HeadId, float]:
        """{(layer, head): mean} of the heads that have one."""
        place = self.names.index(name)
        return {head: float(mean)
                for head, mean, count in zip(self.places, self.mean[place], self.count[place], strict=True) if count}

    def best(self, number: int) -> tuple[str, float]:
        """The pattern with the best mean fit of the head of this number, among those that at least half of the texts
        have room for."""
        rows = [row for row, name in enumerate(self.names)
                if name.startswith(FIT) and 2 * self.count[row, number] >= self.texts]
        row = max(rows, key=lambda each: self.mean[each, number])
        return self.names[row].removeprefix(FIT), float(self.mean[row, number])


def _numbers(attention_map: AttentionMap) -> dict[str, dict[HeadId, float]]:
    fitted = patterns.fit(attention_map).fits
    return measures.measure(attention_map).values | {FIT + each.name: fitted.get(each.name, {})
                                                     for each in patterns.PATTERNS}


def averages_of(record: AttentionRecord, kind: Kind) -> Averages:
    """The averages over one text."""
    attention_map = record[kind]
    places = tuple((layer.index, head) for layer in attention_map.layers for head in range(layer.heads))
    numbers = _numbers(attention_map)
    table = np.array([[values.get(head, np.nan) for head in places] for values in numbers.values()])
    there = np.isfinite(table)
    return Averages(kind, places, tuple(numbers), there.astype(np.float64), np.where(there, table, 0),
                    np.zeros(table.shape), 1, len(attention_map.queries), int(record.omitted is not None))


def merge(first: Averages, second: Averages) -> Averages:
    """Both together. Raises ValueError unless they have the same heads and measures."""
    if (first.kind, first.places, first.names) != (second.kind, second.places, second.names):
        raise ValueError("merged: expected two averages of the same heads and measures; ask one model for one kind of "
                         "attention.")
    count = first.count + second.count
    share = np.divide(second.count, count, out=np.zeros(count.shape), where=count > 0)
    apart = second.mean - first.mean
    return Averages(first.kind, first.places, first.names, count, first.mean + apart * share,
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
    return {"kind": found.kind.value, "places": found.places, "names": found.names, **arrays,
            "texts": found.texts, "tokens": found.tokens, "cut": found.cut}


def from_object(found: dict[str, Any]) -> Averages:
    """The averages in such a dict. Raises ValueError, KeyError or TypeError for any other dict."""
    arrays = [np.array(found[name], np.float64) for name in ("count", "mean", "squares")]
    places, names = tuple((int(layer), int(head)) for layer, head in found["places"]), tuple(map(str, found["names"]))
    if any(each.shape != (len(names), len(places)) or not np.isfinite(each).all() for each in arrays):
        raise ValueError("from_object: expected finite arrays (name, head), got others.")
    return Averages(Kind(found["kind"]), places, names, arrays[0], arrays[1], arrays[2], int(found["texts"]),
                    int(found["tokens"]), int(found["cut"]))


def as_csv(found: Averages, provenance: dict[str, Any]) -> str:
    """A CSV (RFC 4180) with one row a head: layer, head, the pattern with the best mean fit, and mean and standard
    deviation of every measure and fit, in the fewest digits that give back the number. The first row's last cell holds
    the provenance as JSON."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    columns = [f"{name}_{what}" for name in found.names for what in ("mean", "sd")]
    writer.writerow(["layer", "head", "texts", "pattern", "fit", *columns, "provenance"])
    spread = found.spread
    last = json.dumps(provenance | {"kind": found.kind.value, "texts": found.texts, "tokens": found.tokens,
                                    "cut": found.cut}, ensure_ascii=True)
    for number, (layer, head) in enumerate(found.places):
        name, best = found.best(number)
        cells = [_cell(value) for row in range(len(found.names))
                 for value in (found.mean[row, number] if found.count[row, number] else math.nan, spread[row, number])]
        writer.writerow([layer, head, found.texts, name, repr(best), *cells, last])
        last = ""
    return text.getvalue()


def _cell(value: float) -> str:
    return "" if math.isnan(value) else repr(float(value))
