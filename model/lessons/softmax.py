r"""Study softmax(z / T) of one row of logits z: entropy, effective number of tokens, and slope.

Weights p are float64 (..., key) and sum to 1; temperatures are positive numbers (...). The effective number of tokens
is 2^H (perplexity), where H is the entropy in bits (Shannon 1948). The Jacobian ∂p/∂z is (diag p − p pᵀ) / T.
"""
import math
from collections.abc import Sequence

import numpy as np

from clearhead.model.core import attention, heads
from clearhead.model.core.query import HeadId, Kind
from clearhead.model.core.record import AttentionRecord, Prediction
from clearhead.model.core.statistics import cosine, entropy


def softmax_rows(logits: np.ndarray, temperatures: np.ndarray | Sequence[float],
                 allowed: np.ndarray | None = None) -> np.ndarray:
    """Return softmax(z / T) for every temperature, float64 (temperature, key), over the keys in `allowed`, bool (key).

    Uses the same function as the from-scratch model and every drawn head. It subtracts the maximum of the row before
    dividing by T, so small temperatures do not overflow.
    """
    row = np.broadcast_to(np.asarray(logits, np.float64), (len(temperatures), len(logits)))
    return attention.softmax(row, allowed, temperature=np.asarray(temperatures, np.float64)[:, None])


def naive_softmax(logits: np.ndarray, temperature: float, dtype: type = np.float32) -> np.ndarray:
    """Compute exp(z / T) divided by its sum over the last axis, in precision `dtype`, without any safeguard. The result
    is NaN if an exponential overflows."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        raised = np.exp(np.asarray(logits, dtype) / dtype(temperature))
        return raised / raised.sum(-1, keepdims=True)


def effective_tokens(weights: np.ndarray) -> np.ndarray:
    """Return 2^H (...), with H in bits. It is m for uniform weights on m tokens."""
    return np.exp(entropy(weights, base=math.e))


def jacobian(weights: np.ndarray, temperature: float) -> np.ndarray:
    """Return ∂p/∂z of softmax(z / T), float64 (key, key): (diag p − p pᵀ) / T. Rows and columns sum to 0."""
    return (np.diag(weights) - np.outer(weights, weights)) / temperature


def jacobian_norm(weights: np.ndarray, temperatures: np.ndarray | float) -> np.ndarray:
    """Return the Frobenius norm of the Jacobian (...), √(Σ p_i² (1 − p_i)² + 2 Σ_{i<j} p_i² p_j²) / T.

    All terms are positive, and 1 − p of the largest weight is computed as the sum of the others, which avoids
    cancellation where the norm is tiny.
    """
    ranked = -np.sort(-weights, axis=-1)
    others = 1 - ranked
    others[..., 0] = ranked[..., 1:].sum(-1)
    squares = ranked**2
    behind = np.cumsum(squares[..., :0:-1], axis=-1)[..., ::-1]   # sum over all smaller weights, for all but the last
    return np.sqrt((squares * others**2).sum(-1) + 2 * (squares[..., :-1] * behind).sum(-1)) / temperatures


def row_change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the total variation distance ½ Σ_j |w'_j − w_j| between rows (..., key), which is the share of attention
    that moved, 0 to 1."""
    return np.abs(after.astype(np.float64) - before).sum(-1) / 2


def head_changes(before: AttentionRecord, after: AttentionRecord, kind: Kind) -> dict[HeadId, float]:
    """Return {(layer, head): share of attention that moved}, averaged over queries."""
    moved: dict[HeadId, float] = {}
    for old, new in zip(before[kind].layers, after[kind].layers, strict=True):
        totals = np.zeros(old.heads)
        for (_, _, first), (_, _, second) in zip(heads.weight_blocks(old), heads.weight_blocks(new), strict=True):
            totals += row_change(first, second).sum(-1)
        moved.update({(old.index, head): float(total / old.shape[1]) for head, total in enumerate(totals)})
    return moved


def by_layer(values: dict[HeadId, float]) -> tuple[np.ndarray, list[int]]:
    """Arrange values as float64 (layer, head), with NaN for missing heads. Return them and the indices of the
    layers."""
    from pandas import Series

    grid = Series(values).unstack()
    return grid.to_numpy(np.float64), grid.index.tolist()


def answer_change(before: Prediction | None, after: Prediction | None) -> tuple[str, float]:
    """Return (what was compared, its change): "vector" and 1 − cosine of the sentence vectors, or "probability" and the
    change in the best guess's probability at the last position. Returns "none" if there is no prediction, or if the
    best guess is no longer among the top twenty."""
    if before is not None and after is not None:
        if before.vector is not None and after.vector is not None:
            return "vector", max(0.0, 1 - cosine(before.vector, after.vector))   # rounding can make it negative
        if before.ids and before.ids[-1][0] in after.ids[-1]:
            new = after.probabilities[-1][after.ids[-1].index(before.ids[-1][0])]
            return "probability", new - before.probabilities[-1][0]
    return "none", 0.0
