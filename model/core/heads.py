"""Compute weights, scores, thumbnails and measures of heads from their queries and keys. The model is not run, and
texts of up to about 250 tokens need no torch.

A measure is one number per head: a mean over the text's queries, shown beside the number for uniform weights under the
same mask.
"""
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.attention import Mask, empty_rows
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.query import HeadId, Kind, Progress, frozen, slices, with_arrays
from clearhead.model.core.record import AttentionMap, Layer, Reported

# rows of queries computed at a time: about 5 MB of scores for 9 heads and 1,024 keys, which fits into the processor's
# cache
ROWS = 128
THUMBNAIL = 64    # maximum number of cells per side of a thumbnail


@frozen
class OverviewQuery(MapQuestion):
    """A request for thumbnails of every head of one kind."""

    def answer(self, models: Models, report: Progress) -> "Overview":
        """Compute the thumbnails of the query's record."""
        return overview(self.attention_map(models, report))


@with_arrays
class Overview:
    """Thumbnails of every head of one kind of attention."""

    kind: Kind
    layers: tuple[int, ...]         # layer numbers in the model
    cells: tuple[np.ndarray, ...]   # uint8 (head, row, column) per layer: round(255 · √weight), max-pooled
    pool: tuple[int, int]           # tokens per cell: queries, keys
    masked_out: tuple[HeadId, ...] = ()   # (layer, head) of heads whose mask allows no key
    others: tuple[tuple[int, str], ...] = ()   # layers without softmax attention, as in `AttentionMap`


def weight_blocks(layer: Layer | Reported, heads: slice = slice(None),
                  size: int = ROWS) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield the layer's weights in blocks of rows: (rows, keys, float32 (head, row, key)). No row of a block attends
    outside `keys`."""
    _, n_queries, n_keys = layer.shape
    for rows in slices(n_queries, size):
        keys = layer.allowed.reach(rows, n_keys)
        yield rows, keys, part(layer, heads, rows, keys)


def part(layer: Layer | Reported, heads: slice, rows: slice, keys: slice) -> np.ndarray:
    """Return the weights of some heads, queries and keys, float32 (head, row, key)."""
    if isinstance(layer, Reported):
        return layer.weights[heads, rows, keys]
    return layer.weights(heads, rows, keys)


def allowed_cells(allowed: Mask, rows: slice, keys: slice, head: int | None = None) -> np.ndarray:
    """Return which cells a mask allows, bool (row, key): for one head, or for any head."""
    block = allowed.block(rows, keys)
    return np.asarray(block if block.ndim == 2 else block.any(0) if head is None else block[head])


def whole(layer: Layer | Reported) -> np.ndarray:
    """Return the weights of all heads of a layer, float32 (head, query, key)."""
    found = np.zeros(layer.shape, np.float32)
    for rows, keys, block in weight_blocks(layer):
        found[:, rows, keys] = block
    return found


def weights(layer: Layer | Reported, head: int, rows: slice | None = None) -> np.ndarray:
    """Return the weights of one head, float32 (query, key); each row sums to 1, or to 1 minus the sink's share, or to 0
    if it has no allowed key. `rows` selects queries."""
    return part(layer, slice(head, head + 1), rows or slice(0, layer.shape[1]), slice(0, layer.shape[2]))[0]


def sink_share(layer: Layer | Reported, head: int) -> np.ndarray | None:
    """Return the sink's share of each row of one head, float32 (query), or None for a layer without a sink."""
    if isinstance(layer, Reported):
        return None if layer.sink_share is None else layer.sink_share[head]
    return None if layer.sink is None else np.maximum(0, 1 - weights(layer, head).sum(-1))


def scores(layer: Layer | Reported, head: int, rows: slice | None = None) -> np.ndarray | None:
    """Return the scores of one head before mask and softmax, float32 (query, key), NaN where masked, or None if the
    model only reports its weights."""
    if isinstance(layer, Reported):
        return None
    rows = rows or slice(0, layer.shape[1])
    keys = slice(0, layer.shape[2])
    numbers = layer.scores(slice(head, head + 1), rows, keys)[0]
    return np.where(allowed_cells(layer.allowed, rows, keys, head), numbers, np.float32("nan"))


def share_among_heads(layer: Layer | Reported, head: int) -> np.ndarray:
    """Return each cell's weight divided by its sum over all heads of the layer, float32 (query, key), 0 where that sum
    is 0: the normalisation of Tensor2Tensor's notebook hello_t2t (visualization/attention.js, resize). Rows do not sum
    to 1."""
    every = whole(layer)
    return np.divide(every[head], every.sum(0), out=np.zeros(layer.shape[1:], np.float32), where=every.sum(0) > 0)


def row_weights(layer: Layer | Reported, query: int) -> np.ndarray:
    """Return one token's weights in every head of the layer, float32 (head, key)."""
    return part(layer, slice(None), slice(query, query + 1), slice(0, layer.shape[2]))[:, 0]


def pair_weights(attention_map: AttentionMap, query: int, key: int) -> dict[HeadId, float]:
    """Return the weight from one token to another in every head: {(layer, head): weight}."""
    return {(layer.index, head): float(weight)
            for layer in attention_map.layers for head, weight in enumerate(row_weights(layer, query)[:, key])}


def rank_heads_for_pair(attention_map: AttentionMap, query: int, key: int) -> list[tuple[int, int, float]]:
    """Rank the heads by their weight for a pair of tokens: (layer, head, weight), largest first, ties in model
    order."""
    return largest_first(pair_weights(attention_map, query, key))


def largest_first(values: dict[HeadId, float]) -> list[tuple[int, int, float]]:
    """Sort {(layer, head): value} into (layer, head, value), largest first, ties in the order of the heads given."""
    return sorted(((layer, head, value) for (layer, head), value in values.items()), key=lambda entry: -entry[2])


def overview(attention_map: AttentionMap) -> Overview:
    """Compute a thumbnail of every head, at most 64 × 64 cells for any length, max-pooled so that a single strong
    weight never disappears."""
    pool = -(-len(attention_map.queries) // THUMBNAIL), -(-len(attention_map.keys) // THUMBNAIL)
    cells = tuple(np.round(255 * np.sqrt(pooled_weights(layer, pool))).astype(np.uint8)
                  for layer in attention_map.layers)
    masked_out = tuple((layer.index, int(head)) for layer in attention_map.layers
                       for head in np.flatnonzero(layer.sees_nothing.all(1)))
    return Overview(attention_map.kind, tuple(layer.index for layer in attention_map.layers), cells, pool, masked_out,
                    attention_map.others)


def pooled_weights(layer: Layer | Reported, pool: tuple[int, int], heads: slice = slice(None)) -> np.ndarray:
    """Return the largest weight, without a sign, in each cell of `pool` queries × keys, float32 (head, row, column), in
    blocks that avoid n² memory."""
    high, wide = (-(-n // size) for n, size in zip(layer.shape[1:], pool))
    cells = np.zeros((len(range(layer.heads)[heads]), high, wide), np.float32)
    for rows, keys, block in weight_blocks(layer, heads, size=max(1, ROWS // pool[0]) * pool[0]):
        top, first = rows.start // pool[0], keys.start // pool[1]
        if layer.minus is not None:
            block = np.minimum(np.abs(block), 1)
        pooled = _pooled(block, pool, keys.start % pool[1])
        cells[:, top:top + pooled.shape[1], first:first + pooled.shape[2]] = pooled
    return cells


def _pooled(block: np.ndarray, pool: tuple[int, int], before: int) -> np.ndarray:
    """Max-pool a block (head, row, key) whose first key is `before` keys after the start of its pool.

    Rows are pooled first: their pools are contiguous in memory, and fewer keys remain for the second step.
    """
    heads, n_rows, n_keys = block.shape
    if n_rows % pool[0] or before or n_keys % pool[1]:
        block = np.pad(block, ((0, 0), (0, -n_rows % pool[0]), (before, -(before + n_keys) % pool[1])))
    by_row = block if pool[0] == 1 else block.reshape(heads, -1, pool[0], block.shape[2]).max(2)
    return by_row if pool[1] == 1 else by_row.reshape(heads, by_row.shape[1], -1, pool[1]).max(3)


if TYPE_CHECKING:
    from pandas import DataFrame


def head_ids(attention_map: AttentionMap) -> tuple[HeadId, ...]:
    """Return every head as (layer, head), in model order."""
    return tuple((layer.index, head) for layer in attention_map.layers for head in range(layer.heads))


def by_head(heads: Sequence[HeadId], numbers: np.ndarray) -> dict[HeadId, float]:
    """Return {(layer, head): number}, leaving out NaN."""
    return {head: number for head, number in zip(heads, numbers.tolist(), strict=True) if not math.isnan(number)}


def joined(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the layers' arrays, (head, …) each, under the names of the first layer."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def head_frame(heads: Sequence[HeadId], columns: Mapping[str, np.ndarray]) -> "DataFrame":
    """Build a frame with one row per head, indexed by (layer, head), and these columns, (head) each."""
    from pandas import DataFrame, MultiIndex

    return DataFrame(dict(columns), MultiIndex.from_tuples(heads, names=["layer", "head"]))


def ranked_frame(columns: Mapping[str, object], by: str) -> "DataFrame":
    """Build a frame of these columns, the rows with the largest magnitude in the column `by` first."""
    from pandas import DataFrame

    return DataFrame(columns).sort_values(by, key=np.abs, ascending=False, kind="stable").reset_index(drop=True)


ENCODING = "utf-8-sig"   # of CSV files: spreadsheets only recognise UTF-8 by a byte order mark


def as_csv(frame: "DataFrame") -> bytes:
    """Return the frame with its index as CSV (RFC 4180, in ENCODING). Numbers have the fewest digits that restore them
    exactly; missing ones are empty."""
    return frame.to_csv(lineterminator="\r\n").encode(ENCODING)


WeightBlock = tuple[slice, slice, np.ndarray]   # rows, keys, weights float32 (head, row, key)


@frozen
class Measure:
    """A quantity that describes a head by one number."""

    name: str              # the key in URLs and tables
    title: str             # shown on the page: behaviour of a head with a large value
    equation: str          # LaTeX, for one query i with weights w_ij
    unit: str              # unit of the number
    paper: str             # source of the definition
    crosses: bool = True   # whether it applies when queries and keys are different texts


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
GATE = Measure("gate", "passes its gate", r"\lVert g_i \odot o_i \rVert / \lVert o_i \rVert",
               "share of the output's length", "Qiu et al. 2025")   # not of the weights, so no atlas has it
UNSIGNED = ("entropy", "distance")   # measures without a meaning if weights can be negative
BY_NAME = {measure.name: measure for measure in (*MEASURES, GATE)}


@frozen
class MeasuresQuery(MapQuestion):
    """A request for the measures of every head of one kind."""

    def answer(self, models: Models, report: Progress) -> "HeadMeasures":
        """Compute the measures of the query's record."""
        return measure(self.attention_map(models, report))


@with_arrays
class HeadMeasures:
    """Every measure of every head of one kind."""

    kind: Kind
    heads: tuple[HeadId, ...]        # in the order of the arrays
    values: dict[str, np.ndarray]    # {measure: float64 (head)}
    uniform: dict[str, np.ndarray]   # the same for uniform weights on the allowed keys
    left_out: np.ndarray             # rows without an allowed key, excluded from the means, int (head)

    def by_head(self, name: str) -> dict[HeadId, float]:
        """Return {(layer, head): value} of one measure."""
        return by_head(self.heads, self.values[name])

    def ranked(self, name: str) -> list[tuple[int, int, float]]:
        """Return (layer, head, value), largest first."""
        return largest_first(self.by_head(name))

    def frame(self) -> "DataFrame":
        """Return one row per head and one column per measure, each in its own unit (MEASURES)."""
        return head_frame(self.heads, self.values)

    def uniform_frame(self) -> "DataFrame":
        """Return the same frame for uniform weights on the allowed keys."""
        return head_frame(self.heads, self.uniform)


def _block_sums(block: np.ndarray, rows: slice, keys: slice, special: np.ndarray,
                square: bool) -> dict[str, np.ndarray]:
    """Sum each measure over the rows of one block, (head) each. `block` is float32 (head, row, key)."""
    i, j = np.arange(rows.start, rows.stop), np.arange(keys.start, keys.stop)
    logs = np.log2(block, out=np.zeros_like(block), where=block > 0)
    sums = {"first": block[:, :, 0].sum(1) * (keys.start == 0),
            "special": block[:, :, special[keys]].sum((1, 2)),
            "entropy": -np.einsum("hij,hij->h", block, logs)}
    if square:
        sums["distance"] = np.einsum("hij,ij->h", block, np.abs(i[:, None] - j).astype(np.float32))
        for name, shift in (("previous", -1), ("next", 1), ("same", 0)):
            inside = (i + shift >= keys.start) & (i + shift < keys.stop)
            sums[name] = block[:, np.flatnonzero(inside), i[inside] + shift - keys.start].sum(1)
    return sums


def _means(blocks: Iterable[WeightBlock], sees: np.ndarray, special: np.ndarray, square: bool) -> dict[str, np.ndarray]:
    """Average the measures over the queries with an allowed key, `sees`, bool (head or 1, query); NaN if there are
    none. The first token has no previous token and the last no next one, so those two measures have one row less."""
    totals: dict[str, np.ndarray] = {}
    for rows, keys, block in blocks:
        for name, part in _block_sums(block, rows, keys, special, square).items():
            totals[name] = totals.get(name, 0) + part.astype(np.float64)
    # a single token has neither a previous nor a next one
    counted = {"previous": sees[:, 1:], "next": sees[:, :-1]} if sees.shape[1] > 1 else {}
    counts = {name: counted.get(name, sees).sum(1) for name in totals}
    return {each.name: np.divide(totals[each.name], counts[each.name], out=np.full(len(totals["first"]), np.nan),
                                 where=counts[each.name] > 0) for each in MEASURES if each.name in totals}


def uniform_blocks(allowed: Mask, shape: tuple[int, int], sees: np.ndarray | None = None) -> Iterator[WeightBlock]:
    """Yield blocks like `weight_blocks` for uniform weights on the allowed keys. `sees`, bool (head, query), marks the
    rows with any weight, for reported weights without a mask."""
    for rows in slices(shape[0], ROWS):
        keys = allowed.reach(rows, shape[1])
        block = allowed.block(rows, keys).astype(np.float32)
        block = block.reshape(-1, *block.shape[-2:])   # heads that share a mask are computed once
        block = block if sees is None else block * sees[:, rows, None]
        yield rows, keys, block / np.maximum(block.sum(-1, keepdims=True), 1)


def measure(attention_map: AttentionMap) -> HeadMeasures:
    """Compute every measure that applies to this kind of attention, for every head."""
    special, square = np.array(attention_map.keys.special), attention_map.kind.base is not Kind.CROSS
    values, uniform, left_out = [], [], []
    gated = any(layer.gate is not None for layer in attention_map.layers)
    baselines: dict[int, dict[str, np.ndarray]] = {}   # keyed by the mask's id, since layers share masks
    for layer in attention_map.layers:
        key, shape, sees = id(layer.allowed), layer.shape[1:], ~layer.sees_nothing
        if isinstance(layer, Reported) and not sees.all():
            baselines[key] = _means(uniform_blocks(layer.allowed, shape, sees), sees, special, square)
        elif key not in baselines:
            baselines[key] = _means(uniform_blocks(layer.allowed, shape), ~empty_rows(layer.allowed, *shape), special,
                                    square)
        values.append(_means(weight_blocks(layer), sees, special, square))
        uniform.append({name: np.broadcast_to(numbers, layer.heads) for name, numbers in baselines[key].items()})
        left_out.append((~sees).sum(1))
        if gated:
            uniform[-1][GATE.name] = nothing = np.full(layer.heads, np.nan)
            values[-1][GATE.name] = nothing if layer.gate is None else layer.gate.mean(1, dtype=np.float64)
    numbers = {name: each for name, each in joined(values).items() if not (attention_map.signed and name in UNSIGNED)}
    return HeadMeasures(attention_map.kind, head_ids(attention_map), numbers, joined(uniform),
                        np.concatenate(left_out))
