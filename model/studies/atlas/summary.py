"""Summarise any number of texts in constant space, and build the atlas's tables from the summary.

Summaries of parts of a corpus can be merged. If they are merged in corpus order, the result does not depend, bit for
bit, on how the work was distributed. Means and sums of squared deviations are merged as in Chan, Golub & LeVeque 1979,
equation (2.1).
"""
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.query import HeadId, Kind, frozen, with_arrays
from clearhead.model.studies import patterns
from clearhead.model.studies.atlas.measured import (
    CELLS,
    FIT,
    POSITIONS,
    SINK,
    UNIFORM,
    Bins,
    MeasuredText,
    Number,
    numbers_of,
    rows_of,
)
from clearhead.model.studies.syntax import DIRECTIONS, OFFSETS, TOTALS, Counts
from clearhead.model.studies.syntax import merge as merge_counts

if TYPE_CHECKING:
    from pandas import DataFrame

COUNTED = ("texts", "tokens", "cut", "unread")   # numbers in `Averages`
KEPT = 4    # texts with the largest values to keep per head and number
SAMPLE = 200     # texts with the smallest hashes to keep for all heads; the examples of deciles come from these


@frozen
class Text:
    """A text of the corpus that is kept as an example."""

    number: int                     # index in the corpus, from 0
    digest: int                     # from `digest_of`
    source: str                     # file name
    line: int                       # line in the file, from 1
    text: str                       # the text itself
    tokens: tuple[str, ...] = ()    # query tokens
    keys: tuple[str, ...] = ()      # key tokens, if they differ from the query tokens


def digest_of(text: str) -> int:
    """Return the first 64 bits of a text's sha256. The sample consists of the texts with the smallest ones."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


@with_arrays
class Averages:
    """Running means of every number of every head. A number that is undefined for a text, such as the fit of a pattern
    without cells in it, is not counted."""

    kind: Kind                  # kind of attention
    heads: tuple[HeadId, ...]   # in the order of the arrays
    names: tuple[str, ...]      # names of the numbers, with FIT before a pattern's name
    count: np.ndarray           # texts for which the number is defined, float64 (name, head)
    mean: np.ndarray            # over those texts, float64 (name, head)
    squares: np.ndarray         # summed squared deviations from the mean, float64 (name, head)
    texts: int = 0              # number of texts read
    tokens: int = 0             # number of tokens in all texts
    cut: int = 0                # number of texts truncated at the model's maximum length
    unread: int = 0             # number of texts with a word that the model cannot read

    @property
    def spread(self) -> np.ndarray:
        """The sample standard deviation over texts (n − 1), float64 (name, head); NaN for fewer than two texts."""
        return np.sqrt(np.divide(self.squares, self.count - 1, out=np.full(self.mean.shape, np.nan),
                                 where=self.count > 1))

    @property
    def means(self) -> np.ndarray:
        """The means, float64 (name, head); NaN if the number is undefined for all texts."""
        return np.where(self.count > 0, self.mean, np.nan)

    def merge(self, other: "Averages") -> "Averages":
        """Merge with averages of the same heads and numbers over other texts."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros(count.shape), where=count > 0)
        apart = other.mean - self.mean
        return replace(self, count=count, mean=self.mean + apart * share,
                       squares=self.squares + other.squares + apart**2 * self.count * share,
                       **{name: getattr(self, name) + getattr(other, name) for name in COUNTED})

    def choose(self, names: Sequence[str]) -> "Averages":
        """Select the averages of these numbers."""
        rows = [self.names.index(name) for name in names]
        return replace(self, names=tuple(names), count=self.count[rows], mean=self.mean[rows],
                       squares=self.squares[rows])

    def by_head(self, name: str) -> dict[HeadId, float]:
        """Return {(layer, head): mean} for the heads with a mean."""
        return heads.by_head(self.heads, self.means[self.names.index(name)])

    def frame(self) -> "DataFrame":
        """Return one row per head. `pattern` and `fit` are the best mean fit among patterns that apply to at least half
        of the texts; `fit_n` is the number of texts it is based on. Every number has columns NAME_mean, NAME_sd and
        NAME_n (texts)."""
        counts = self.count.astype(np.int64)
        numbers = {f"{name}_{what}": row
                   for name, *rows in zip(self.names, self.means, self.spread, counts, strict=True)
                   for what, row in zip(("mean", "sd", "n"), rows, strict=True)}
        fits = np.where(2 * self.count >= self.texts, self.mean, np.nan)
        best = patterns.best_patterns(heads.head_frame(self.heads, {
            name.removeprefix(FIT): row for name, row in zip(self.names, fits, strict=True) if name.startswith(FIT)}))
        fit_n = [counts[self.names.index(FIT + pattern), head] for head, pattern in enumerate(best["pattern"])]
        return best.assign(fit_n=fit_n).join(heads.head_frame(self.heads, numbers))


def as_csv(found: Averages) -> bytes:
    """Format `Averages.frame` as CSV (RFC 4180)."""
    frame = found.frame()
    frame.insert(0, "texts", found.texts)
    return heads.as_csv(frame)


def _stacked(*parts: "Strongest | Sample") -> list[np.ndarray]:
    """Concatenate each field of these parts."""
    return [np.concatenate(each) for each in zip(*(vars(part).values() for part in parts), strict=True)]


@with_arrays
class Strongest:
    """The texts with the largest values for each head and number, at most KEPT, largest first; arrays (rank, number,
    head)."""

    value: np.ndarray    # float64, −∞ if there is no text
    digest: np.ndarray   # uint64, digest of the text
    text: np.ndarray     # int64, index of the text, −1 if there is none
    cell: np.ndarray     # int32 (rank, number, head, 2): query and key of the example cell
    weight: np.ndarray   # float32, weight of the cell

    def merge(self, *others: "Strongest") -> "Strongest":
        """Merge all and keep the strongest. The smaller hash wins a tie; a repeated text counts once."""
        value, digest, text, cell, weight = _stacked(self, *others)
        order = np.lexsort((text, digest, -value), axis=0)
        take, again = np.take_along_axis, np.zeros(value.shape, bool)
        again[1:] = np.logical_and(*(each[1:] == each[:-1] for each in (take(value, order, 0), take(digest, order, 0))))
        first = np.argsort(again, axis=0, kind="stable")[:KEPT]
        kept, gone = take(order, first, 0), take(again, first, 0)
        return Strongest(np.where(gone, -np.inf, take(value, kept, 0)), take(digest, kept, 0),
                         np.where(gone, -1, take(text, kept, 0)), take(cell, kept[..., None], 0), take(weight, kept, 0))


@with_arrays
class Sample:
    """A pseudo-random sample: the SAMPLE texts with the smallest hashes, smallest first."""

    digest: np.ndarray    # uint64 (text)
    text: np.ndarray      # int64 (text), index of the text
    value: np.ndarray     # float64 (text, number, head)
    cell: np.ndarray      # int32 (text, CELLS, head, 2)
    weight: np.ndarray    # float32 (text, CELLS, head)

    def merge(self, *others: "Sample") -> "Sample":
        """Merge the samples. Only the first copy of a repeated text is kept."""
        parts = _stacked(self, *others)
        _, first = np.unique(parts[0], return_index=True)   # sorted by hash; ties keep the first
        return Sample(*(part[first[:SAMPLE]] for part in parts))


@with_arrays
class Summary:
    """All data kept from a set of texts."""

    averages: Averages               # of all numbers in `rows_of`
    low: np.ndarray                  # smallest value, float64 (number, head), ∞ without texts
    high: np.ndarray                 # largest value, float64 (number, head), −∞ without texts
    histogram: np.ndarray            # texts per bin, int64 (number, head, bin)
    strongest: Strongest             # strongest texts per head and number
    sample: Sample                   # random texts
    syntax: Counts | None            # results for sentences with trees
    texts: tuple[Text, ...]          # texts used as examples, in corpus order
    title: str                       # title of the model
    statuses: frozenset[str]         # verification statuses of the records

    @property
    def kind(self) -> Kind:
        """Kind of attention."""
        return self.averages.kind

    @property
    def heads(self) -> tuple[HeadId, ...]:
        """The heads in the order of the arrays."""
        return self.averages.heads

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The measured numbers, in the order of the arrays."""
        return numbers_of(self.kind)


@with_arrays
class ReadText:
    """The measurements of one text."""

    text: Text
    measured: MeasuredText
    tokens: int            # number of tokens
    cut: bool              # whether the text was truncated
    title: str = ""        # title of the model
    status: str = ""       # "verified" or "reported"
    syntax: Counts | None = None   # each head's correct answers per relation, if the text has a tree
    unread: bool = False           # whether the model cannot read a word of it


def summarise(kind: Kind, read: Sequence[ReadText]) -> Summary:
    """Summarise at least one text."""
    numbers, stack = numbers_of(kind), np.stack([each.measured.numbers for each in read])
    value = np.ascontiguousarray(stack[:, :len(numbers)])
    sample = Sample(np.array([each.text.digest for each in read], np.uint64),
                    np.array([each.text.number for each in read], np.int64), value,
                    np.stack([each.measured.cells for each in read]),
                    np.stack([each.measured.weights for each in read]))
    there = np.isfinite(stack)
    count = there.sum(0).astype(np.float64)
    mean = np.where(there, stack, 0).sum(0) / np.maximum(count, 1)
    averages = Averages(kind, read[0].measured.heads, rows_of(kind), count, mean,
                        (np.where(there, stack - mean, 0) ** 2).sum(0), len(stack),
                        *(sum(getattr(each, name) for each in read) for name in COUNTED[1:]))
    there = np.isfinite(value)
    return _pruned(Summary(averages, np.where(there, value, np.inf).min(0), np.where(there, value, -np.inf).max(0),
                           _histogram(numbers, value), _strongest(numbers, sample), sample.merge(),
                           _together(*(each.syntax for each in read)), tuple(each.text for each in read),
                           read[0].title, frozenset(each.status for each in read)))


def merge(first: Summary, second: Summary) -> Summary:
    """Merge two summaries of the same heads; `first` must precede `second` in the corpus."""
    return _pruned(Summary(
        first.averages.merge(second.averages), np.minimum(first.low, second.low), np.maximum(first.high, second.high),
        first.histogram + second.histogram, first.strongest.merge(second.strongest), first.sample.merge(second.sample),
        _together(first.syntax, second.syntax), first.texts + second.texts, first.title,
        first.statuses | second.statuses))


def _together(*parts: Counts | None) -> Counts | None:
    there = [part for part in parts if part is not None]
    return merge_counts(*there) if there else None


def _histogram(numbers: Sequence[Number], value: np.ndarray) -> np.ndarray:
    """Count the texts in each bin, int64 (number, head, bin), from values (text, number, head)."""
    histograms = np.zeros((*value.shape[1:], numbers[0].bins.count), np.int64)
    for number, histogram, column in zip(numbers, histograms, value.swapaxes(0, 1), strict=True):
        there = np.isfinite(column)
        np.add.at(histogram, (np.nonzero(there)[1], number.bins.of(column[there])), 1)
    return histograms


def _strongest(numbers: Sequence[Number], sample: Sample) -> Strongest:
    at = [CELLS.index(number.cell) for number in numbers]
    shape = sample.value.shape
    there = np.isfinite(sample.value)
    every = Strongest(np.where(there, sample.value, -np.inf),
                      np.broadcast_to(sample.digest[:, None, None], shape),
                      np.where(there, sample.text[:, None, None], -1), sample.cell[:, at], sample.weight[:, at])
    return every.merge()


def _pruned(summary: Summary) -> Summary:
    """Drop texts that are no longer used as examples."""
    used = {*summary.strongest.text.ravel().tolist(), *summary.sample.text.tolist()}
    return replace(summary, texts=tuple(text for text in summary.texts if text.number in used))


DECILES = tuple(range(1, 10))
EACH_DECILE = 2      # maximum number of examples per decile
HEAD, DECILE, STRONGEST = ("layer", "head"), "decile", "strongest"


@with_arrays
class Atlas:
    """The measurements of every head of one model over one corpus."""

    about: Mapping[str, Any]              # metadata stored in every file: model, revision, corpus, versions, …
    tables: Mapping[str, "DataFrame"]     # heads, measures, histograms, sinks, examples, texts; syntax if annotated

    @property
    def kind(self) -> Kind:
        """Kind of attention."""
        return Kind(self.about["kind"])

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(self.tables["measures"]["measure"])

    @property
    def heads(self) -> tuple[HeadId, ...]:
        """Every (layer, head), in model order."""
        return tuple(self.tables["heads"][list(HEAD)].drop_duplicates().itertuples(index=False, name=None))

    @property
    def nbytes(self) -> int:
        """Size of the tables in bytes."""
        return sum(int(table.memory_usage(deep=True).sum()) for table in self.tables.values())

    def wide(self, column: str = "mean") -> "DataFrame":
        """Return a column of the table "heads" as a table with one row per (layer, head) and one column per measure."""
        table = self.tables["heads"].pivot(index=list(HEAD), columns="measure", values=column)
        return table[list(self.measures)].rename_axis(columns=None)

    def of_head(self, layer: int, head: int) -> "DataFrame":
        """Return one head's rows of the table "heads", indexed by measure."""
        return self._where("heads", layer=layer, head=head).set_index("measure").drop(columns=list(HEAD))

    def histogram(self, layer: int, head: int, measure: str) -> "DataFrame":
        """Return low, high and count of each non-empty bin."""
        return self._where("histograms", layer=layer, head=head, measure=measure)[["low", "high", "count"]]

    def examples(self, layer: int, head: int, measure: str) -> "DataFrame":
        """Return the strongest examples and the examples of each decile, with their texts."""
        return self._where("examples", layer=layer, head=head, measure=measure).merge(self.tables["texts"], on="number")

    def _where(self, table: str, **values: object) -> "DataFrame":
        rows = self.tables[table]
        return rows[(rows[list(values)] == list(values.values())).all(axis=1)].reset_index(drop=True)


def atlas_of(summary: Summary, said: Mapping[str, object]) -> Atlas:
    """Build the atlas of a whole corpus. said: the result of `build.made_of`."""
    averages = summary.averages
    about = {name: value for name, value in said.items() if name != "asked_kind"}
    about |= {"title": summary.title, "kind": summary.kind.value,
              "verification": " and ".join(sorted(summary.statuses)),
              "layers": len({layer for layer, _ in summary.heads}), "texts": averages.texts,
              "tokens": averages.tokens, "cut": averages.cut}
    if summary.syntax is not None:
        about["syntax"] = {name: getattr(summary.syntax, name) for name in TOTALS}
    return Atlas(about, tables_of(summary))


def tables_of(summary: Summary) -> dict[str, "DataFrame"]:
    """Return every table of the atlas, {file name: table}."""
    from pandas import DataFrame

    names = np.array([number.name for number in summary.numbers], object)
    tables = {"measures": _measures(summary), "heads": _heads(summary, names),
              "histograms": _histograms(summary, names), "sinks": _sinks(summary),
              "examples": _examples(summary, names),
              "texts": [{"number": each.number, "hash": f"{each.digest:016x}", "source": each.source,
                         "line": each.line, "text": each.text, "tokens": each.tokens, "keys": each.keys}
                        for each in summary.texts]}
    if summary.syntax is not None:
        tables |= {"syntax": _syntax(summary.syntax), "offsets": _offsets(summary.syntax)}
    return {name: DataFrame(table) for name, table in tables.items()}


def _measures(summary: Summary) -> list[dict[str, object]]:
    plain = ("group", "title", "equation", "unit", "paper")
    return [{"measure": number.name} | {name: getattr(number, name) for name in plain}
            | {"low": float(number.bins.low), "high": float(number.bins.high), "bins": number.bins.count,
               "scale": number.bins.scale} for number in summary.numbers]


def _by_head(summary: Summary, key: str, names: np.ndarray, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a table with one row for each of these names and each head; columns: (name, head) each."""
    layer, head = np.array(summary.heads, np.int32).T
    return {"layer": np.tile(layer, len(names)), "head": np.tile(head, len(names)),
            key: np.repeat(names, len(layer))} | {name: column.ravel() for name, column in columns.items()}


def _heads(summary: Summary, names: np.ndarray) -> dict[str, np.ndarray]:
    averages = summary.averages
    at = [averages.names.index(name) for name in names]
    means = dict(zip(averages.names, averages.means, strict=True))
    even = [means.get(UNIFORM + name, np.full(len(summary.heads), np.nan)) for name in names]
    there = averages.count[at] > 0
    ends = {"min": np.where(there, summary.low, np.nan), "max": np.where(there, summary.high, np.nan)}
    cut = [deciles(number.bins, *parts) for number, *parts in zip(
        summary.numbers, summary.histogram, ends["min"], ends["max"], strict=True)]
    columns = {"n": averages.count[at].astype(np.int64), "mean": averages.means[at], "sd": averages.spread[at], **ends}
    columns |= {f"d{decile}": np.array([values[:, decile - 1] for values, _ in cut]) for decile in DECILES}
    columns |= {"error": np.array([error for _, error in cut]), "uniform": np.array(even)}
    return _by_head(summary, "measure", names, columns)


def deciles(bins: Bins, histogram: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the nine deciles, float64 (head, 9), and their maximum error, float64 (head), from a histogram of texts,
    int64 (head, bin), and the smallest and largest values (head). Decile k is the smallest value such that at least
    k tenths of the texts have at most this value; NaN without texts."""
    n = histogram.sum(1)
    wanted = np.maximum((np.array(DECILES) * n[:, None] + 9) // 10, 1)
    place = np.array([np.searchsorted(row.cumsum(), want) for row, want in zip(histogram, wanted, strict=True)])
    place = np.minimum(place, bins.count - 1)
    edges = bins.edges
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    values = np.clip(middle[place], low[:, None], high[:, None])
    return np.where(n[:, None] > 0, values, np.nan), np.where(n > 0, half[place].max(1), np.nan)


def _histograms(summary: Summary, names: np.ndarray) -> dict[str, np.ndarray]:
    number, head, place = np.nonzero(summary.histogram)
    edges = np.array([number.bins.edges for number in summary.numbers])
    heads = np.array(summary.heads, np.int32)
    return {"layer": heads[head, 0], "head": heads[head, 1], "measure": names[number],
            "low": edges[number, place], "high": edges[number, place + 1],
            "count": summary.histogram[number, head, place]}


def _sinks(summary: Summary) -> dict[str, np.ndarray]:
    found, even = (summary.averages.choose([f"{prefix}{SINK}{position}" for position in POSITIONS])
                   for prefix in ("", UNIFORM))
    return _by_head(summary, "position", np.array(POSITIONS, np.int32), {
        "n": found.count.astype(np.int64), "share": found.means, "uniform": even.means})


def _examples(summary: Summary, names: np.ndarray) -> "DataFrame":
    from pandas import DataFrame, concat

    heads = np.array(summary.heads, np.int32)
    order = ["measure_at", "head_at", "decile", "rank"]
    rows = concat([DataFrame({"measure_at": number, "head_at": head, "layer": heads[head, 0], "head": heads[head, 1],
                              "measure": names[number]} | columns)
                   for number, head, columns in (_strongest_examples(summary), _decile_examples(summary))])
    return rows.sort_values(order, kind="stable", ignore_index=True).drop(columns=order[:2])


def _strongest_examples(summary: Summary) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """Return (number, head, other columns) of the strongest texts."""
    found = summary.strongest
    rank, number, head = at = np.nonzero(found.text >= 0)
    return number, head, {
        "sample": STRONGEST, "decile": np.int32(0), "rank": rank.astype(np.int32), "value": found.value[at],
        "number": found.text[at], "query": found.cell[at][:, 0], "key": found.cell[at][:, 1],
        "weight": found.weight[at]}


def _decile_examples(summary: Summary) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """Return the EACH_DECILE texts with the smallest hashes in each tenth of the sample, like `_strongest_examples`."""
    sample = summary.sample
    value = sample.value                                        # (text, number, head), texts sorted by hash
    there = np.isfinite(value)
    place = np.argsort(np.argsort(np.where(there, value, np.inf), axis=0, kind="stable"), axis=0)
    tenth = np.where(there, 10 * place // np.maximum(there.sum(0), 1), -1)
    rank = np.full(value.shape, EACH_DECILE)
    for each in range(10):
        inside = tenth == each
        rank[inside] = (inside.cumsum(0) - 1)[inside]
    text, number, head = at = np.nonzero(rank < EACH_DECILE)
    cell = np.array([CELLS.index(each.cell) for each in summary.numbers])[number]
    return number, head, {
        "sample": DECILE, "decile": (tenth[at] + 1).astype(np.int32), "rank": rank[at].astype(np.int32),
        "value": value[at], "number": sample.text[text], "query": sample.cell[text, cell, head, 0],
        "key": sample.cell[text, cell, head, 1], "weight": sample.weight[text, cell, head]}


def _syntax(counts: Counts) -> dict[str, np.ndarray]:
    """Return one row per relation, direction (from the dependent or from its head) and attention head. The columns are
    the number of tests (n), the correct ones overall and by halves, and those that the mask allows (possible)."""
    relation, looks, head = (index.ravel() for index in np.indices((len(counts.names), 2, len(counts.heads))))
    heads = np.array(counts.heads, np.int32).reshape(-1, 2)
    return {"relation": np.array(counts.names, object)[relation], "looks": np.array(DIRECTIONS, object)[looks],
            "layer": heads[head, 0], "head": heads[head, 1],
            **_halves(counts.n[relation], counts.right[relation, :, looks, head],
                      possible=counts.possible.sum(1)[relation, looks])}


def _offsets(counts: Counts) -> dict[str, np.ndarray]:
    """Return the baseline with one row per relation and offset (in words, from the dependent to its head): the number
    of tests and of correct ones, overall and by halves."""
    relation, place = (index.ravel() for index in np.indices((len(counts.names), len(OFFSETS))))
    return {"relation": np.array(counts.names, object)[relation], "offset": OFFSETS[place].astype(np.int32),
            **_halves(counts.n[relation], counts.near[relation, :, place])}


def _halves(n: np.ndarray, right: np.ndarray, **more: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of the tests and of the correct ones, (row, half), overall, `more` columns, and by halves."""
    return {"n": n.sum(1), "right": right.sum(1), **more, "n_even": n[:, 0], "right_even": right[:, 0],
            "n_odd": n[:, 1], "right_odd": right[:, 1]}
