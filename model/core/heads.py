"""What views ask of a record: weights, scores, pairs, thumbnails. All of it is arithmetic on queries and keys; nothing
runs the model.

torch is imported where it computes, so that a page can import this module before torch is there.
"""
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core.masks import Dense, Hidden, Mask, Narrowed
from model.core.models import Models
from model.core.query import Kind, Query
from model.core.record import AttentionMap, Layer, Reported
from model.core.types import HeadId, Progress

if TYPE_CHECKING:
    from torch import Tensor

    HeadTensors = tuple[Tensor, Tensor, np.ndarray, Tensor | None, Tensor | None]

# rows of queries computed at a time: about 5 MB of scores for 9 heads and 1,024 keys, so that they stay in the cache
ROWS = 128
THUMBNAIL = 64    # cells a side, at most, that stand for one head in the overview
KEPT = 2**18      # numbers of a block of a mask, at most, that is kept for the next layer


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


def tensor_of(array: np.ndarray) -> "Tensor":
    """The array's memory as a tensor, without a copy where it may be had; nothing here writes to it."""
    import torch

    try:
        alias = array.view()
        alias.flags.writeable = True   # torch warns about read-only memory
    except ValueError:
        alias = array.copy()
    return torch.from_numpy(alias)


def _heads_of(layer: Layer, heads: slice) -> "HeadTensors":
    """Some query heads as tensors: query, key (repeated to match, for grouped-query attention), the heads' numbers,
    sink and temperature."""
    group = layer.heads // layer.key.shape[0]
    wanted = np.arange(layer.heads)[heads]
    key = tensor_of(layer.key[wanted // group] if group > 1 or len(wanted) < layer.heads else layer.key)
    sink, temperature = (None if numbers is None else tensor_of(numbers[wanted])[:, None, None]
                         for numbers in (layer.sink, layer.temperature))
    return tensor_of(layer.query[heads]), key, wanted, sink, temperature


def _mask_of(layer: Layer, heads: np.ndarray, rows: slice, keys: slice) -> "Tensor | None":
    """What is added to the scores of these rows: 0 where they may look, -∞ elsewhere; None where they may look at all
    of it."""
    ends = rows.start, rows.stop, keys.start, keys.stop
    if isinstance(layer.allowed, Dense | Hidden | Narrowed) or (ends[1] - ends[0]) * (ends[3] - ends[2]) > KEPT:
        mask = _additive_mask.__wrapped__(layer.allowed, *ends)
        return mask[heads] if mask is not None and mask.ndim == 3 else mask
    return _additive_mask(layer.allowed, *ends)


@functools.lru_cache(16)   # as all layers have the same: a seventh of the overview of SmolLM2 at 1,024 tokens
def _additive_mask(allowed: Mask, *ends: int) -> "Tensor | None":
    import torch

    block = allowed.block(slice(*ends[:2]), slice(*ends[2:]))
    if block.all():
        return None
    return torch.zeros(block.shape).masked_fill_(~tensor_of(np.ascontiguousarray(block)), -float("inf"))


def _scores(layer: Layer, heads: slice, rows: slice, keys: slice,
            prepared: "HeadTensors | None" = None) -> "tuple[Tensor, Tensor | None, HeadTensors]":
    """Scores of some heads and rows over `keys`, (head, row, key), and what their mask adds to them."""
    from model.core import attention

    tensors = prepared or _heads_of(layer, heads)
    query, key, wanted, _, _ = tensors
    bias = None if layer.bias is None else layer.bias.block(rows, keys)
    if bias is not None and bias.ndim == 3:
        bias = bias[wanted]
    scores = attention.scores(query[:, rows], key[:, keys], scale=layer.scale, softcap=layer.softcap,
                              bias=None if bias is None else tensor_of(np.ascontiguousarray(bias)))
    return scores, _mask_of(layer, wanted, rows, keys), tensors


def _weights(layer: Layer, heads: slice, rows: slice, keys: slice, prepared: "HeadTensors | None" = None) -> "Tensor":
    """Weights of some heads and rows over `keys`, (head, row, key)."""
    from model.core import attention

    scores, mask, (_, _, wanted, sink, temperature) = _scores(layer, heads, rows, keys, prepared)
    if mask is not None:
        scores += mask   # in place: n² numbers once
    found = attention.softmax(scores, temperature=1.0 if temperature is None else temperature, sink=sink)
    nothing = layer.sees_nothing[wanted, rows]
    return found.masked_fill_(tensor_of(nothing)[..., None], 0) if nothing.any() else found   # equation (1) gives NaN


def weight_blocks(layer: Layer | Reported, heads: slice = slice(None),
                  size: int = ROWS) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Weights of the layer in blocks of rows: (rows, keys, float32 (head, row, key)), where no row may look outside
    `keys`."""
    return ((rows, keys, block.numpy()) for rows, keys, block in _tensor_blocks(layer, heads, size))


def _tensor_blocks(layer: Layer | Reported, heads: slice, size: int) -> "Iterator[tuple[slice, slice, Tensor]]":
    """`weight_blocks` as tensors."""
    _, n_queries, n_keys = layer.shape
    prepared = _heads_of(layer, heads) if isinstance(layer, Layer) else None
    for start in range(0, n_queries, size):
        rows = slice(start, min(start + size, n_queries))
        keys = layer.allowed.reach(rows, n_keys)
        if isinstance(layer, Reported):
            yield rows, keys, tensor_of(layer.weights[heads, rows, keys])
        else:
            yield rows, keys, _weights(layer, heads, rows, keys, prepared)


def weights(layer: Layer | Reported, head: int, rows: slice | None = None) -> np.ndarray:
    """The weights of one head, float32 (query, key); each row sums to 1, or to 1 minus the sink's share, or to 0 where
    it may look at nothing. `rows` takes some queries only."""
    rows = rows or slice(0, layer.shape[1])
    if isinstance(layer, Reported):
        return layer.weights[head, rows]
    return _weights(layer, slice(head, head + 1), rows, slice(0, layer.shape[2]))[0].numpy()


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
    numbers, mask, _ = _scores(layer, slice(head, head + 1), rows, slice(0, layer.shape[2]))
    return (numbers if mask is None else numbers.masked_fill(mask < 0, float("nan")))[0].numpy()


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
    return _weights(layer, slice(None), slice(query, query + 1), slice(0, layer.shape[2]))[:, 0].numpy()


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


def head_outputs(layer: Layer, rows: np.ndarray) -> np.ndarray:
    """weights · value for some queries, float32 (head, row, d_v): what equation (1) says the layer's heads put out."""
    group = layer.heads // layer.value.shape[0]
    mixed = np.stack([_weights(layer, slice(None), slice(row, row + 1), slice(0, layer.shape[2]))[:, 0].numpy()
                      for row in rows], axis=1)
    return np.stack([mixed[head] @ layer.value[head // group] for head in range(layer.heads)])


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
    for rows, keys, block in _tensor_blocks(layer, slice(None), max(1, ROWS // pool[0]) * pool[0]):
        top, first = rows.start // pool[0], keys.start // pool[1]
        pooled = _pooled(block, pool, keys.start % pool[1]).numpy()
        cells[:, top:top + pooled.shape[1], first:first + pooled.shape[2]] = pooled
    return np.round(255 * np.sqrt(cells)).astype(np.uint8)


def _pooled(block: "Tensor", pool: tuple[int, int], before: int) -> "Tensor":
    """The largest of every pool of a block (head, row, key) whose first key stands `before` keys behind the beginning
    of its pool.

    Rows come first: their pools lie side by side in memory, and the keys are then so many times fewer.
    """
    import torch

    heads, n_rows, n_keys = block.shape
    if n_rows % pool[0] or before or n_keys % pool[1]:
        block = torch.nn.functional.pad(block, (before, -(before + n_keys) % pool[1], 0, -n_rows % pool[0]))
    by_row = block.view(heads, -1, pool[0], block.shape[2]).amax(2)
    return by_row.view(heads, by_row.shape[1], -1, pool[1]).amax(3)
