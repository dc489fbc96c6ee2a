"""What views ask of a record: weights, scores, pairs, thumbnails. All of it is arithmetic on queries and keys; nothing
runs the model, and nothing imports torch for a text of up to about 250 tokens."""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.core.models import Models
from model.core.query import Kind, Query
from model.core.record import AttentionMap, Layer, Reported
from model.core.types import HeadId, Progress

# rows of queries computed at a time: about 5 MB of scores for 9 heads and 1,024 keys, so that they stay in the cache
ROWS = 128
THUMBNAIL = 64    # cells a side, at most, that stand for one head in the overview


@dataclass(frozen=True)
class OverviewQuery:
    """Thumbnails of every head of one kind."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "Overview":
        """The thumbnails of the query's record."""
        return overview(models.record(self.query, report)[self.kind])


@dataclass(frozen=True, eq=False)
class Overview:
    """One thumbnail for each head of one kind."""

    kind: Kind
    layers: tuple[int, ...]         # numbers in the model
    cells: tuple[np.ndarray, ...]   # for each layer uint8 (head, row, column): round(255 · √weight), max-pooled
    pool: tuple[int, int]           # tokens in a cell: queries, keys
    masked_out: tuple[HeadId, ...] = ()   # heads that the mask lets look at nothing, (layer, head)

    @property
    def nbytes(self) -> int:
        """Bytes of all thumbnails."""
        return sum(cells.nbytes for cells in self.cells)


def weight_blocks(layer: Layer | Reported, heads: slice = slice(None),
                  size: int = ROWS) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Weights of the layer in blocks of rows: (rows, keys, float32 (head, row, key)), where no row may look outside
    `keys`."""
    _, n_queries, n_keys = layer.shape
    for start in range(0, n_queries, size):
        rows = slice(start, min(start + size, n_queries))
        keys = layer.allowed.reach(rows, n_keys)
        if isinstance(layer, Reported):
            yield rows, keys, layer.weights[heads, rows, keys]
        else:
            yield rows, keys, layer.weights(heads, rows, keys)


def weights(layer: Layer | Reported, head: int, rows: slice | None = None) -> np.ndarray:
    """The weights of one head, float32 (query, key); each row sums to 1, or to 1 minus the sink's share, or to 0 where
    it may look at nothing. `rows` takes some queries only."""
    rows = rows or slice(0, layer.shape[1])
    if isinstance(layer, Reported):
        return layer.weights[head, rows]
    return layer.weights(slice(head, head + 1), rows, slice(0, layer.shape[2]))[0]


def sink_share(layer: Layer | Reported, head: int) -> np.ndarray | None:
    """What the sink takes of each row of one head, float32 (query); None for a layer without a sink."""
    if isinstance(layer, Reported):
        return None if layer.sink_share is None else layer.sink_share[head]
    return None if layer.sink is None else np.maximum(0, 1 - weights(layer, head).sum(-1))


def scores(layer: Layer | Reported, head: int, rows: slice | None = None) -> np.ndarray | None:
    """The scores of one head before mask and softmax, float32 (query, key), NaN where the mask forbids; None if the
    model reports its weights only."""
    if isinstance(layer, Reported):
        return None
    rows = rows or slice(0, layer.shape[1])
    keys = slice(0, layer.shape[2])
    allowed = layer.allowed.block(rows, keys)
    numbers = layer.scores(slice(head, head + 1), rows, keys)[0]
    return np.where(allowed[head] if allowed.ndim == 3 else allowed, numbers, np.float32("nan"))


def share_among_heads(layer: Layer | Reported, head: int) -> np.ndarray:
    """Each cell's weight divided by its sum over all heads of the layer, float32 (query, key), 0 where that sum is 0:
    how Tensor2Tensor's notebook hello_t2t normalises before it draws (visualization/attention.js, resize). Rows do not
    sum to 1."""
    total = sum(weights(layer, other) for other in range(layer.heads))
    return np.divide(weights(layer, head), total, out=np.zeros(layer.shape[1:], np.float32), where=total > 0)


def row_weights(layer: Layer | Reported, query: int) -> np.ndarray:
    """What one token looks at in every head of the layer, float32 (head, key)."""
    if isinstance(layer, Reported):
        return layer.weights[:, query]
    return layer.weights(slice(None), slice(query, query + 1), slice(0, layer.shape[2]))[:, 0]


def pair_weights(attention_map: AttentionMap, query: int, key: int) -> dict[HeadId, float]:
    """The weight from one token to another in every head: {(layer, head): weight}."""
    return {(layer.index, head): float(weight)
            for layer in attention_map.layers for head, weight in enumerate(row_weights(layer, query)[:, key])}


def rank_heads_for_pair(attention_map: AttentionMap, query: int, key: int) -> list[tuple[int, int, float]]:
    """(layer, head, weight) for a pair of tokens, the largest weight first; ties in the model's own order."""
    return largest_first(pair_weights(attention_map, query, key))


def largest_first(values: dict[HeadId, float]) -> list[tuple[int, int, float]]:
    """(layer, head, value) of {(layer, head): value}, the largest value first; ties in the model's own order."""
    return sorted(((layer, head, value) for (layer, head), value in values.items()),
                  key=lambda entry: (-entry[2], entry[0], entry[1]))


def overview(attention_map: AttentionMap) -> Overview:
    """Thumbnails of every head, of at most 64 × 64 cells whatever the length; max-pooled, so that a single strong
    weight never disappears."""
    pool = -(-len(attention_map.queries) // THUMBNAIL), -(-len(attention_map.keys) // THUMBNAIL)
    cells = tuple(_thumbnails(layer, pool) for layer in attention_map.layers)
    masked_out = tuple((layer.index, int(head)) for layer in attention_map.layers
                       for head in np.flatnonzero(layer.sees_nothing.all(1)))
    return Overview(attention_map.kind, tuple(layer.index for layer in attention_map.layers), cells, pool, masked_out)


def _thumbnails(layer: Layer | Reported, pool: tuple[int, int]) -> np.ndarray:
    heads, n_queries, n_keys = layer.shape
    high, wide = (-(-n // size) for n, size in zip((n_queries, n_keys), pool))
    cells = np.zeros((heads, high, wide), np.float32)
    for rows, keys, block in weight_blocks(layer, size=max(1, ROWS // pool[0]) * pool[0]):
        top, first = rows.start // pool[0], keys.start // pool[1]
        pooled = _pooled(block, pool, keys.start % pool[1])
        cells[:, top:top + pooled.shape[1], first:first + pooled.shape[2]] = pooled
    return np.round(255 * np.sqrt(cells)).astype(np.uint8)


def _pooled(block: np.ndarray, pool: tuple[int, int], before: int) -> np.ndarray:
    """The largest of every pool of a block (head, row, key) whose first key stands `before` keys behind the beginning
    of its pool.

    Rows come first: their pools lie side by side in memory, and the keys are then so many times fewer.
    """
    heads, n_rows, n_keys = block.shape
    if n_rows % pool[0] or before or n_keys % pool[1]:
        block = np.pad(block, ((0, 0), (0, -n_rows % pool[0]), (before, -(before + n_keys) % pool[1])))
    by_row = block if pool[0] == 1 else block.reshape(heads, -1, pool[0], block.shape[2]).max(2)
    return by_row if pool[1] == 1 else by_row.reshape(heads, by_row.shape[1], -1, pool[1]).max(3)
