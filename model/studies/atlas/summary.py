"""What is kept of many texts: averages, histograms, the strongest texts and a sample. Summaries of two parts of a
corpus merge into that of both; merged in the corpus' order they have the same bits however the work was parted.

A summary's size depends on the model, not on the number of texts. """
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from model.core.query import Kind
from model.core.types import HeadId
from model.studies import corpus
from model.studies.atlas import trees
from model.studies.atlas.measured import MeasuredText
from model.studies.atlas.numbers import CELLS, Number, numbers_of, rows_of
from model.studies.corpus import Averages
from model.studies.syntax.report import Counts

STRONGEST = 4    # texts with the largest value, of each head and number
SAMPLE = 200     # texts with the smallest hashes, the same for all heads: where the examples of deciles come from


@dataclass(frozen=True)
class Text:
    """A text of the corpus that is kept, as an example is taken from it."""

    number: int                     # in the corpus, from 0
    digest: int                     # the first 64 bits of its sha256
    source: str                     # the name of its file
    line: int                       # there, from 1
    text: str                       # the text itself
    tokens: tuple[str, ...] = ()    # that look, as the model reads it
    keys: tuple[str, ...] = ()      # that are looked at, where these are others


def digest_of(text: str) -> int:
    """The first 64 bits of the sha256 of a text, which decides whether it is in the sample."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


@dataclass(frozen=True, eq=False)
class Strongest:
    """Of each head and number the STRONGEST texts, the largest value first; each array (rank, number, head)."""

    value: np.ndarray    # float64, −∞ where there is no text
    digest: np.ndarray   # uint64, of the text
    text: np.ndarray     # int64, its number, −1 where there is none
    cell: np.ndarray     # int32 (rank, number, head, 2): query and key
    weight: np.ndarray   # float32, there

    def merge(self, other: "Strongest") -> "Strongest":
        """The strongest of both; of equals the smaller hash; a text that the corpus has twice counts once."""
        value, digest, text, cell, weight = (np.concatenate([getattr(each, name) for each in (self, other)])
                                             for name in self.__dataclass_fields__)
        order = np.lexsort((text, digest, -value), axis=0)
        value, digest = (np.take_along_axis(each, order, 0) for each in (value, digest))
        again = np.zeros(value.shape, bool)
        again[1:] = (digest[1:] == digest[:-1]) & (value[1:] == value[:-1])
        first = np.argsort(again, axis=0, kind="stable")[:STRONGEST]
        kept = np.take_along_axis(order, first, 0)
        gone = np.take_along_axis(again, first, 0)
        return Strongest(np.where(gone, -np.inf, np.take_along_axis(value, first, 0)),
                         np.take_along_axis(digest, first, 0),
                         np.where(gone, -1, np.take_along_axis(text, kept, 0)),
                         np.take_along_axis(cell, kept[..., None], 0), np.take_along_axis(weight, kept, 0))


@dataclass(frozen=True, eq=False)
class Sample:
    """The SAMPLE texts with the smallest hashes, which are a draw without favour; the smallest first."""

    digest: np.ndarray    # uint64 (text)
    text: np.ndarray      # int64 (text), its number
    value: np.ndarray     # float64 (text, number, head)
    cell: np.ndarray      # int32 (text, CELLS, head, 2)
    weight: np.ndarray    # float32 (text, CELLS, head)

    def merge(self, other: "Sample") -> "Sample":
        """The sample of both; of a text that the corpus has twice the first."""
        parts = [np.concatenate([getattr(each, name) for each in (self, other)]) for name in self.__dataclass_fields__]
        _, first = np.unique(parts[0], return_index=True)   # sorted by hash; of equals the first
        return Sample(*(part[first[:SAMPLE]] for part in parts))


@dataclass(frozen=True, eq=False)
class Summary:
    """Everything that is kept of some texts."""

    averages: Averages               # of the rows of `rows_of`
    low: np.ndarray                  # the smallest value, float64 (number, head), ∞ where there is none
    high: np.ndarray                 # the largest, −∞ where there is none
    histogram: np.ndarray            # texts in each bin, int64 (number, head, bin)
    strongest: Strongest             # of each head and number
    sample: Sample                   # of all texts
    texts: dict[int, Text] = field(default_factory=dict)   # by number: those that are an example
    title: str = ""                  # of the model
    statuses: frozenset[str] = frozenset()   # of the verification of its answers
    syntax: Counts | None = None     # of the sentences that have trees

    @property
    def kind(self) -> Kind:
        """The kind of attention."""
        return self.averages.kind

    @property
    def heads(self) -> tuple[HeadId, ...]:
        """The heads in the order of the arrays."""
        return self.averages.heads

    @property
    def numbers(self) -> tuple[Number, ...]:
        """What is measured, in the order of the arrays."""
        return numbers_of(self.kind)


@dataclass(frozen=True, eq=False)
class ReadText:
    """One text with what was measured in it."""

    text: Text
    measured: MeasuredText
    tokens: int            # count
    cut: bool              # whether it was longer than the model reads
    title: str = ""        # of the model
    status: str = ""       # verified or reported
    syntax: Counts | None = None   # how often each head is right about each relation, of a sentence with a tree


def summarise(kind: Kind, read: Sequence[ReadText]) -> Summary:
    """The summary of a few texts, all at once. Raises ValueError for none."""
    if not read:
        raise ValueError("summarise: expected at least one text, got none; ask only for texts that are there.")
    numbers, heads = numbers_of(kind), read[0].measured.heads
    stack = np.stack([each.measured.numbers for each in read])
    value = np.ascontiguousarray(stack[:, :len(numbers)])
    cells = np.stack([each.measured.cells for each in read])
    weights = np.stack([each.measured.weights for each in read])
    digest = np.array([each.text.digest for each in read], np.uint64)
    number = np.array([each.text.number for each in read], np.int64)
    sample = Sample(digest, number, value, cells, weights)
    averages = replace(_averaged(kind, heads, stack), tokens=sum(each.tokens for each in read),
                       cut=sum(each.cut for each in read))
    there = np.isfinite(value)
    empty = replace(sample, **{name: getattr(sample, name)[:0] for name in Sample.__dataclass_fields__})
    return _pruned(Summary(averages, np.where(there, value, np.inf).min(0), np.where(there, value, -np.inf).max(0),
                           _histogram(numbers, value), _strongest(numbers, sample), empty.merge(sample),
                           {each.text.number: each.text for each in read}, read[0].title,
                           frozenset(each.status for each in read), trees.together(each.syntax for each in read)))


def merge(first: Summary, second: Summary) -> Summary:
    """Both together, `first` before `second` in the corpus. Raises ValueError unless they have the same heads."""
    return _pruned(Summary(
        corpus.merge(first.averages, second.averages), np.minimum(first.low, second.low),
        np.maximum(first.high, second.high), first.histogram + second.histogram,
        first.strongest.merge(second.strongest), first.sample.merge(second.sample), first.texts | second.texts,
        first.title, first.statuses | second.statuses, trees.together((first.syntax, second.syntax))))


def _averaged(kind: Kind, heads: tuple[HeadId, ...], stack: np.ndarray) -> Averages:
    there = np.isfinite(stack)
    count = there.sum(0).astype(np.float64)
    mean = np.where(there, stack, 0).sum(0) / np.maximum(count, 1)
    squares = (np.where(there, stack - mean, 0) ** 2).sum(0)
    return Averages(kind, heads, rows_of(kind), count, mean, squares, len(stack))


def _histogram(numbers: Iterable[Number], value: np.ndarray) -> np.ndarray:
    """Texts in each bin, int64 (number, head, bin), of values (text, number, head)."""
    histograms = []
    for at, number in enumerate(numbers):
        column, count = value[:, at], number.bins.count
        there = np.isfinite(column)
        head = np.broadcast_to(np.arange(column.shape[1]), column.shape)[there]
        flat = np.bincount(head * count + number.bins.of(column[there]), minlength=column.shape[1] * count)
        histograms.append(flat.reshape(-1, count))
    return np.array(histograms, np.int64)


def _strongest(numbers: Sequence[Number], sample: Sample) -> Strongest:
    at = [CELLS.index(number.cell) for number in numbers]
    shape = sample.value.shape
    there = np.isfinite(sample.value)
    every = Strongest(np.where(there, sample.value, -np.inf),
                      np.broadcast_to(sample.digest[:, None, None], shape),
                      np.where(there, sample.text[:, None, None], -1), sample.cell[:, at], sample.weight[:, at])
    lacking = np.full((STRONGEST, *shape[1:]), -np.inf)
    return every.merge(Strongest(lacking, np.zeros(lacking.shape, np.uint64), np.full(lacking.shape, -1),
                                 np.full((*lacking.shape, 2), -1, np.int32), np.zeros(lacking.shape, np.float32)))


def _pruned(summary: Summary) -> Summary:
    """The summary with the texts alone that are an example."""
    used = {*summary.strongest.text.ravel().tolist(), *summary.sample.text.tolist()} - {-1}
    return replace(summary, texts={number: summary.texts[number] for number in sorted(used)})
