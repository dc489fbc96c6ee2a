r"""Compute equation (1) of Vaswani et al. 2017. The same code trains our models, draws pretrained heads and drives the
temperature lab.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

with the additions of later models: a soft-cap and a bias on the scores, a temperature, a mask, and a sink. Axes: (...,
query, d_k), (..., key, d_k), (..., key, d_v); leading axes are batch and head.

Arguments are numpy arrays or torch tensors, and results have the same type. Small pictures therefore need no torch.

A mask says which keys a query may attend to, and a bias is added to the scores; both take O(n) memory. Callers request
blocks, to avoid allocating n² values: `block(rows, keys)` takes two slices of positions and returns an array (rows,
keys) or (head, rows, keys). Rows are always queries, columns keys.
"""
import math
from collections.abc import Collection
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from clearhead.model.core.query import Edit, Hide, Kind, Window, frozen, slices, with_arrays

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", np.ndarray, "Tensor")


def library(array: "np.ndarray | Tensor") -> ModuleType:
    """Return the library that the array belongs to: numpy or torch."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def scores(query: Array, key: Array, *, scale: float | None = None, softcap: float | None = None,
           bias: Array | None = None) -> Array:
    """Return attention scores before mask and softmax, (..., query, key): query · key · scale, capped, plus bias.

    `scale` defaults to 1/√d_k (section 3.2.1). `softcap` caps the scores as cap · tanh(score / cap) (Gemma 2, 2024).
    """
    product = query @ key.swapaxes(-2, -1)
    product *= 1 / math.sqrt(query.shape[-1]) if scale is None else scale   # in place, to allocate n² numbers once
    if softcap is not None:
        product = softcap * library(product).tanh(product / softcap)
    return product if bias is None else product + bias


def softmax(scores: Array, allowed: Array | None = None, *, temperature: float | Array = 1.0,
            sink: Array | None = None) -> Array:
    """Return weights (..., query, key): softmax(scores / T) over the allowed keys. A row sums to 1, or to 1 minus the
    sink's share.

    `allowed` is bool, broadcast over (..., query, key); a row without an allowed key is NaN, as the formula implies.
    `temperature` and `sink` broadcast over (..., query, 1); the sink is an extra logit that belongs to no key (Xiao et
    al. 2024; gpt-oss). The row's maximum is subtracted before dividing, so small temperatures do not overflow.
    """
    xp = library(scores)
    if allowed is not None:
        scores = xp.where(allowed, scores, -math.inf)
    plain = isinstance(temperature, float) and temperature == 1
    if xp is not np and sink is None and plain:
        return xp.softmax(scores, -1)   # the same formula in one pass over memory
    top = xp.amax(scores, -1, keepdims=True)
    if sink is not None:
        top = xp.maximum(top, sink)
    raised = scores - top if plain else (scores - top) / temperature
    raised = np.exp(raised, out=raised) if xp is np else xp.exp(raised)   # in place, to allocate n² numbers once
    total = raised.sum(-1, keepdims=True)
    if sink is not None:
        total = total + xp.exp((sink - top) / temperature)
    return np.divide(raised, total, out=raised) if xp is np else raised / total


def attention(query: Array, key: Array, value: Array, allowed: Array | None = None, bias: Array | None = None, *,
              scale: float | None = None, temperature: float | Array = 1.0) -> tuple[Array, Array]:
    """Compute equation (1): return the mixed values (..., query, d_v) and the weights (..., query, key).

    A row without an allowed key has weights of 0 and an output of 0, as in torch's fused kernels.
    """
    weights = softmax(scores(query, key, scale=scale, bias=bias), allowed, temperature=temperature)
    if allowed is not None:
        weights = library(weights).where(allowed.any(-1, keepdims=True), weights, 0)
    return weights @ value, weights


def grid(rows: slice, keys: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of rows as a column (row, 1), and those of keys as a row (1, key)."""
    return np.arange(rows.start, rows.stop)[:, None], np.arange(keys.start, keys.stop)[None, :]


@frozen
class Full:
    """Every query may attend to every key."""

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        return slice(0, n_keys)

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return which keys each of these rows may attend to, bool (row, key)."""
        i, j = grid(rows, keys)
        return np.ones((len(i), j.shape[1]), bool)


@frozen
class Causal:
    """A query may attend to itself and to earlier positions: the look-ahead mask of Vaswani et al. 2017, section
    3.2.3."""

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        return slice(0, min(rows.stop, n_keys))

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return which keys each of these rows may attend to, bool (row, key)."""
        i, j = grid(rows, keys)
        return j <= i


@frozen
class SlidingWindow:
    """A query at i may attend to keys i - back to i + ahead (Beltagy et al. 2020); `ahead` is 0 in decoders."""

    back: int        # tokens
    ahead: int = 0   # tokens

    def __post_init__(self) -> None:
        if self.back < 0 or self.ahead < 0:
            raise ValueError(f"expected distances from 0, got {self}")

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        return slice(max(0, rows.start - self.back), min(n_keys, rows.stop + self.ahead))

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return which keys each of these rows may attend to, bool (row, key)."""
        i, j = grid(rows, keys)
        return (j >= i - self.back) & (j <= i + self.ahead)


@frozen
class Chunk:
    """Causal attention inside consecutive chunks of `size` tokens (Llama 4)."""

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"expected a size from 1, got {self}")

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        return slice(rows.start // self.size * self.size, min(rows.stop, n_keys))

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return which keys each of these rows may attend to, bool (row, key)."""
        i, j = grid(rows, keys)
        return (j <= i) & (j // self.size == i // self.size)


@with_arrays
class Dense:
    """A mask (bool) or bias (float32) that follows no known rule and is stored as n² values."""

    values: np.ndarray   # bool or float32, (query, key) or (head, query, key)

    def __post_init__(self) -> None:
        if self.values.ndim not in (2, 3) or self.values.dtype not in (np.bool_, np.float32):
            raise ValueError(f"expected bool or float32 of (query, key) or (head, query, key), got {self.values.dtype} "
                             f"{self.values.shape}")

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        return slice(0, n_keys)

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return the values for these rows and keys, (row, key) or (head, row, key)."""
        return self.values[..., rows, keys]


@with_arrays
class Sparse(Dense):
    """The keys that the model itself chooses for each query (DeepSeek-V3.2, 2025). It does not look at the others."""

    @property
    def most(self) -> int:
        """The largest number of keys that a query looks at."""
        return int(self.values.sum(-1).max())


@frozen
class Hidden:
    """Another mask with some keys hidden from every query (the edit `Hide`)."""

    base: "Mask"
    hidden: tuple[int, ...]   # positions of keys

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        return self.base.reach(rows, n_keys)

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return which keys each of these rows may attend to, bool (row, key) or (head, row, key)."""
        return self.base.block(rows, keys) & ~np.isin(np.arange(keys.start, keys.stop), self.hidden)


@frozen
class Narrowed:
    """Another mask restricted to each query's last `width` keys, including its own, and the text's `first` keys (the
    edit `Window`; Xiao et al. 2024)."""

    base: "Mask"
    width: int   # keys
    first: int   # keys

    def reach(self, rows: slice, n_keys: int) -> slice:
        """Return the keys that any of these rows may attend to."""
        whole = self.base.reach(rows, n_keys)
        return whole if self.first else slice(max(whole.start, rows.start - self.width + 1), whole.stop)

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return which keys each of these rows may attend to, bool (row, key) or (head, row, key)."""
        i, j = grid(rows, keys)
        return self.base.block(rows, keys) & ((j > i - self.width) | (j < self.first))


@with_arrays
class Relative:
    """A bias that depends on the distance only: T5's buckets (Raffel et al. 2020), ALiBi (Press et al. 2022)."""

    # float32 (head, n_queries + n_keys - 1); column key - query + n_queries - 1 holds the bias of a pair
    by_offset: np.ndarray
    n_queries: int

    def __post_init__(self) -> None:
        if self.by_offset.ndim != 2 or self.by_offset.shape[1] < self.n_queries:
            raise ValueError(f"expected (head, distance) for {self.n_queries} queries, got {self.by_offset.shape}")

    def block(self, rows: slice, keys: slice) -> np.ndarray:
        """Return the bias for these rows and keys, float32 (head, row, key)."""
        i, j = grid(rows, keys)
        return self.by_offset[:, j - i + self.n_queries - 1]


Mask = Full | Causal | SlidingWindow | Chunk | Dense | Sparse | Hidden | Narrowed
Bias = Relative | Dense | None
ROWS = 256   # rows of a mask processed at once, to avoid n² memory for long texts


def empty_rows(allowed: Mask, n_queries: int, n_keys: int) -> np.ndarray:
    """Return which rows have no allowed key, bool (head or 1, query)."""
    if isinstance(allowed, Full | Causal):
        return np.zeros((1, n_queries), bool)
    if isinstance(allowed, Dense):
        return ~allowed.values.any(-1).reshape(-1, n_queries)
    blocks = (allowed.block(rows, slice(0, n_keys)) for rows in slices(n_queries, ROWS))
    return np.concatenate([~block.any(-1).reshape(-1, block.shape[-2]) for block in blocks], axis=1)


def edited_mask(base: Mask, edits: Collection[Edit], kind: Kind, side: str) -> Mask:
    """Apply a question's edits to the mask of one kind of attention, whose keys are the tokens of `side`; return `base`
    itself if none of them changes it."""
    allowed = base
    for edit in edits:
        if isinstance(edit, Window) and kind is Kind.CAUSAL:
            allowed = Narrowed(base, edit.width, edit.first)
    hidden = tuple(sorted(edit.token for edit in edits if isinstance(edit, Hide) and edit.side == side))
    return Hidden(allowed, hidden) if hidden else allowed


def recognise_mask(allowed: np.ndarray) -> Mask:
    """Find the rule behind a bool mask (query, key) or (head, query, key); return `Dense` if no known rule reproduces
    it exactly."""
    if allowed.ndim == 3 and (allowed == allowed[:1]).all():
        allowed = allowed[0]
    if allowed.ndim == 3:
        return Dense(allowed)
    whole = [slice(0, length) for length in allowed.shape]
    return next((rule for rule in _candidates(allowed) if (rule.block(*whole) == allowed).all()), Dense(allowed))


def _candidates(allowed: np.ndarray) -> list[Mask]:
    n_queries, n_keys = allowed.shape
    last, first = np.flatnonzero(allowed[-1]), np.flatnonzero(allowed[0])
    rules: list[Mask] = [Full(), Causal()]
    if n_queries == n_keys and len(last) and len(first):
        rules.append(SlidingWindow(back=int(n_keys - 1 - last[0]), ahead=int(first[-1])))
        starts = np.flatnonzero(np.diff(allowed.argmax(1)) > 0)
        if len(starts):
            rules.append(Chunk(int(starts[0]) + 1))
    return rules


def recognise_bias(bias: np.ndarray) -> Bias:
    """Find the compact form of an additive bias, float32 (head, query, key) or (query, key): None if it is all 0,
    `Relative` if it depends on the distance and the head only."""
    if not bias.any():
        return None
    if bias.ndim == 3 and len(bias) == 1:
        bias = bias[0]
    if bias.ndim == 3 and (bias[:, 1:, 1:] == bias[:, :-1, :-1]).all():
        return Relative(np.concatenate([bias[:, :0:-1, 0], bias[:, 0, :]], axis=1), n_queries=bias.shape[1])
    return Dense(np.ascontiguousarray(bias, np.float32))
