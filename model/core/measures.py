"""What a head does, in numbers: each measure with its name, equation, unit and paper.

Every measure is one number a head, a mean over the text's queries, beside the number that a uniform row under the same
mask would give. """
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core import heads
from model.core.masks import Mask, empty_rows
from model.core.models import Models
from model.core.query import Kind, Query
from model.core.record import AttentionMap, Reported
from model.core.types import HeadId, Progress

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def head_ids(attention_map: AttentionMap) -> tuple[HeadId, ...]:
    """Every head as (layer, head), in the model's order."""
    return tuple((layer.index, head) for layer in attention_map.layers for head in range(layer.heads))


def by_head(heads: Sequence[HeadId], numbers: np.ndarray) -> dict[HeadId, float]:
    """{(layer, head): number} of the heads that have one; NaN is none."""
    return {head: number for head, number in zip(heads, numbers.tolist(), strict=True) if not math.isnan(number)}


def head_frame(heads: Sequence[HeadId], columns: Mapping[str, np.ndarray]) -> "DataFrame":
    """A new frame with one row a head, indexed by (layer, head), and these columns (head) each."""
    from pandas import DataFrame, MultiIndex

    return DataFrame(dict(columns), MultiIndex.from_tuples(heads, names=["layer", "head"]))


def largest_first(numbers: "Series") -> "Series":
    """The same numbers in falling order; ties stay in the order they had."""
    return numbers.sort_values(ascending=False, kind="stable")


def as_csv(frame: "DataFrame", provenance: str) -> str:
    """The frame with its index as CSV (RFC 4180), numbers in the fewest digits that give them back, none as an empty
    cell; the provenance, JSON, is the last column of the first row, without the semicolon that some spreadsheets take
    for a cell's end."""
    cells = [provenance.replace(";", "\\u003b"), *[""] * (len(frame) - 1)]
    return frame.assign(provenance=cells).to_csv(lineterminator="\r\n")


Block = tuple[slice, slice, np.ndarray]   # rows, keys, weights float32 (head, row, key)


@dataclass(frozen=True)
class Measure:
    """One question about a head that a number answers."""

    name: str              # the key in URLs and tables
    title: str             # for the page: what a head with a large number does
    equation: str          # LaTeX, for one query i with weights w_ij
    unit: str              # of the number
    paper: str             # who defined it
    crosses: bool = True   # whether it has a meaning when queries and keys are different texts


CLARK = "Clark et al. 2019, section 3"
MEASURES = (
    Measure("previous", "looks at the previous token", r"w_{i,i-1}", "share of the row", CLARK, crosses=False),
    Measure("next", "looks at the next token", r"w_{i,i+1}", "share of the row", CLARK, crosses=False),
    Measure("same", "looks at itself", r"w_{i,i}", "share of the row", CLARK, crosses=False),
    Measure("first", "looks at the first token", r"w_{i,0}", "share of the row", "Xiao et al. 2024"),
    Measure("special", "looks at special tokens", r"\sum_{j \in \mathrm{special}} w_{i,j}", "share of the row", CLARK),
    Measure("entropy", "spreads its attention", r"-\sum_j w_{i,j} \log_2 w_{i,j}", "bits", CLARK),
    Measure("distance", "looks far away", r"\sum_j w_{i,j}\,|i-j|", "tokens", "Vig & Belinkov 2019", crosses=False),
)
BY_NAME = {measure.name: measure for measure in MEASURES}


@dataclass(frozen=True)
class MeasuresQuery:
    """The measures of every head of one kind."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "HeadMeasures":
        """The measures of the query's record."""
        return measure(models.record(self.query, report)[self.kind])


@dataclass(frozen=True, eq=False)
class HeadMeasures:
    """Every measure of every head of one kind."""

    kind: Kind
    heads: tuple[HeadId, ...]        # in the order of the arrays
    values: dict[str, np.ndarray]    # {measure: float64 (head)}
    uniform: dict[str, np.ndarray]   # the same if every row had equal weight on each allowed key
    left_out: np.ndarray             # rows that may look at nothing and count in no mean, int (head)

    def by_head(self, name: str) -> dict[HeadId, float]:
        """{(layer, head): value} of one measure."""
        return by_head(self.heads, self.values[name])

    def ranked(self, name: str) -> list[tuple[int, int, float]]:
        """(layer, head, value), the largest first."""
        return heads.largest_first(self.by_head(name))

    def frame(self) -> "DataFrame":
        """One row a head, one column a measure, each in its own unit (MEASURES)."""
        return head_frame(self.heads, self.values)

    def uniform_frame(self) -> "DataFrame":
        """The same of rows with equal weight on each allowed key."""
        return head_frame(self.heads, self.uniform)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(numbers.nbytes for numbers in (*self.values.values(), *self.uniform.values()))


def _block_sums(block: np.ndarray, rows: slice, keys: slice, special: np.ndarray,
                square: bool) -> dict[str, np.ndarray]:
    """Sums over the rows of one block, (head) each. `block` is float32 (head, row, key)."""
    i, j = np.arange(rows.start, rows.stop), np.arange(keys.start, keys.stop)
    logs = np.log2(block, out=np.zeros_like(block), where=block > 0)
    sums = {"first": block[:, :, 0].sum(1) if keys.start == 0 else np.zeros(len(block)),
            "special": block[:, :, special[keys]].sum((1, 2)),
            "entropy": -np.einsum("hij,hij->h", block, logs)}
    if square:
        sums["distance"] = np.einsum("hij,ij->h", block, np.abs(i[:, None] - j).astype(np.float32))
        for name, shift in (("previous", -1), ("next", 1), ("same", 0)):
            inside = (i + shift >= keys.start) & (i + shift < keys.stop)
            sums[name] = block[:, np.flatnonzero(inside), i[inside] + shift - keys.start].sum(1)
    return sums


def _means(blocks: Iterable[Block], sees: np.ndarray, special: np.ndarray, square: bool) -> dict[str, np.ndarray]:
    """Means over the queries that see something, bool (head or 1, query), NaN of none; the first token has no previous
    one and the last no next one, so those two leave one row more out."""
    totals: dict[str, np.ndarray] = {}
    for rows, keys, block in blocks:
        for name, part in _block_sums(block, rows, keys, special, square).items():
            totals[name] = totals.get(name, 0) + part.astype(np.float64)
    counted = {"previous": sees[:, 1:], "next": sees[:, :-1]}
    counts = {name: counted.get(name, sees).sum(1) for name in totals}
    if sees.shape[1] == 1:   # of one token there is no previous and no next one, so both are 0
        counts |= {name: sees.sum(1) for name in counted}
    return {name: np.divide(total, counts[name], out=np.full(len(total), np.nan), where=counts[name] > 0)
            for name, total in totals.items()}


def uniform_blocks(allowed: Mask, shape: tuple[int, int], sees: np.ndarray | None = None) -> Iterator[Block]:
    """Blocks as `heads.weight_blocks` gives them, of rows that look at every allowed key alike. sees: bool (head,
    query), which rows of weights without a mask see anything."""
    for start in range(0, shape[0], heads.ROWS):
        rows = slice(start, min(start + heads.ROWS, shape[0]))
        keys = allowed.reach(rows, shape[1])
        block = allowed.block(rows, keys).astype(np.float32)
        block = block.reshape(-1, *block.shape[-2:])   # one head stands for all that share a mask
        block = block if sees is None else block * sees[:, rows, None]
        yield rows, keys, block / np.maximum(block.sum(-1, keepdims=True), 1)


def measure(attention_map: AttentionMap) -> HeadMeasures:
    """Every measure that has a meaning for this kind, for every head."""
    special, square = np.array(attention_map.keys.special), attention_map.kind.base is not Kind.CROSS
    values: dict[str, list[np.ndarray]] = {measure.name: [] for measure in MEASURES if square or measure.crosses}
    uniform: dict[str, list[np.ndarray]] = {name: [] for name in values}
    baselines: dict[int, dict[str, np.ndarray]] = {}   # by the identity of the mask, which layers share
    left_out = []
    for layer in attention_map.layers:
        key, shape, sees = id(layer.allowed), layer.shape[1:], ~layer.sees_nothing
        if isinstance(layer, Reported) and not sees.all():
            baselines[key] = _means(uniform_blocks(layer.allowed, shape, sees), sees, special, square)
        elif key not in baselines:
            baselines[key] = _means(uniform_blocks(layer.allowed, shape), ~empty_rows(layer.allowed, *shape), special,
                                    square)
        means = _means(heads.weight_blocks(layer), sees, special, square)
        left_out.append((~sees).sum(1))
        for name in values:
            values[name].append(means[name])
            uniform[name].append(np.broadcast_to(baselines[key][name], layer.heads))
    joined = [{name: np.concatenate(parts) for name, parts in each.items()} for each in (values, uniform)]
    return HeadMeasures(attention_map.kind, head_ids(attention_map), joined[0], joined[1], np.concatenate(left_out))
