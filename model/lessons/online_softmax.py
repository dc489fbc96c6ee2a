r"""The online softmax: a row is read tile by tile with a running maximum and a running sum, and never stored.

After the tiles with keys J: m = max_J s_j, l = Σ_J e^(s_j − m), o = Σ_J e^(s_j − m) v_j. A new tile with maximum m'
makes the old l and o worth e^(m − max(m, m')) of themselves. Milakov & Gimelshein 2018, algorithm 3; with the values in
the same pass: Dao et al. 2022, algorithm 1. """
import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Step:
    """The running numbers after one tile."""

    keys: tuple[int, int]   # the tile's places (from, to)
    m: float                # running maximum
    l: float               # running sum  # noqa: E741 (the paper's letter)
    o: np.ndarray           # running mix, (d_v)
    kept: float             # what the old l and o were multiplied by

    @property
    def answer(self) -> np.ndarray:
        """The row's output if the text ended here, (d_v)."""
        return self.o / self.l


def steps(scores: np.ndarray, values: np.ndarray, tile: int) -> list[Step]:
    """One row's scores (key) and the values (key, d_v), `tile` keys at a time; float64. The last step's answer is the
    row's output."""
    tiles = []
    m, total, mix = -np.inf, 0.0, np.zeros(values.shape[1])
    for start in range(0, len(scores), tile):
        part, there = scores[start:start + tile], values[start:start + tile]
        top = max(m, float(part.max()))
        factor, raised = float(np.exp(m - top)), np.exp(part - top)
        m, total, mix = top, factor * total + float(raised.sum()), factor * mix + raised @ there
        tiles.append(Step((start, start + len(part)), m, total, mix, factor))
    return tiles


def tiled_attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, tile: int) -> np.ndarray:
    """softmax(Q Kᵀ / √d_k) V, (query, d_v), with no more than tile × tile scores at a time: all rows of a tile of
    queries take the steps at once."""
    out = np.empty((len(query), value.shape[1]), query.dtype)
    for first in range(0, len(query), tile):
        rows = query[first:first + tile]
        m, total = np.full((len(rows), 1), -np.inf, query.dtype), np.zeros((len(rows), 1), query.dtype)
        mix = np.zeros((len(rows), value.shape[1]), query.dtype)
        for start in range(0, len(key), tile):
            scores = rows @ key[start:start + tile].T / np.sqrt(query.shape[1]).astype(query.dtype)
            top = np.maximum(m, scores.max(1, keepdims=True))
            factor, raised = np.exp(m - top), np.exp(scores - top)
            m, total = top, factor * total + raised.sum(1, keepdims=True)
            mix = factor * mix + raised @ value[start:start + tile]
        out[first:first + tile] = mix / total
    return out


@dataclass(frozen=True)
class Agreement:
    """The same attention three ways on random numbers, float32."""

    n: int            # tokens
    tiled: float      # largest difference of the tiles from equation (1) in float64
    fused: float      # the same of torch's fused kernel
    held_plain: int   # scores that the formula holds at once
    held_tiled: int   # scores that the tiles hold at once


@functools.cache
def agreement(n: int, tile: int, d_k: int = 64, seed: int = 0) -> Agreement:
    """The largest differences from equation (1) in float64; held: scores that each way has in memory at once."""
    import torch

    from model.core import attention

    query, key, value = np.random.default_rng(seed).standard_normal((3, n, d_k)).astype(np.float32)
    exact = attention.attention(*(torch.from_numpy(each.astype(np.float64)) for each in (query, key, value)))[0].numpy()
    queries, keys, values = (torch.from_numpy(each)[None] for each in (query, key, value))
    fused = torch.nn.functional.scaled_dot_product_attention(queries, keys, values)[0].numpy()
    ours = tiled_attention(query, key, value, tile)
    return Agreement(n, float(np.abs(ours - exact).max()), float(np.abs(fused - exact).max()), n * n, tile * tile)
