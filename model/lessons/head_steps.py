r"""Recompute every step of one head for one token, from its query to the head's output, with the values of a record.

Computes equation (1) of Vaswani et al. 2017 for one query i in float64: products q_c k_jc, their sum over c, scale,
soft cap, bias, temperature, mask, softmax, and the mix Σ_j w_ij v_j. Arrays are (key, …); vectors are rows.
"""

import numpy as np

from clearhead.model.core import attention
from clearhead.model.core.query import with_arrays
from clearhead.model.core.record import Layer


@with_arrays
class HeadSteps:
    """All steps of one head for one token, float64."""

    query: np.ndarray      # (d_k)
    keys: np.ndarray       # (key, d_k)
    values: np.ndarray     # (key, d_v)
    products: np.ndarray   # q_c · k_jc, (key, d_k)
    dots: np.ndarray       # sums of the products, (key)
    scaled: np.ndarray     # sums after scale and soft cap, (key)
    bias: np.ndarray       # (key)
    logits: np.ndarray     # input of the softmax, (key)
    allowed: np.ndarray    # bool (key)
    weights: np.ndarray    # (key)
    weighted: np.ndarray   # w_j v_j, (key, d_v)
    mixed: np.ndarray      # sum of the weighted values, (d_v)
    sink: float            # weight of the attention sink


def head_steps(layer: Layer, head: int, token: int) -> HeadSteps:
    """Compute all steps of one head for one token."""
    shared = layer.group(head)
    query, keys, values = (each.astype(np.float64)
                           for each in (layer.query[head, token], layer.key[shared], layer.value[shared]))
    row, every = slice(token, token + 1), slice(0, layer.shape[2])
    products = query * keys
    dots = products.sum(-1)
    scaled = dots * layer.scale
    if layer.softcap is not None:
        scaled = layer.softcap * np.tanh(scaled / layer.softcap)
    bias = np.zeros(len(keys)) if layer.bias is None else _row(layer.bias.block(row, every), head)
    temperature = 1.0 if layer.temperature is None else float(layer.temperature[head])
    logits = (scaled + bias) / temperature
    allowed = _row(layer.allowed.block(row, every), head)
    sink = None if layer.sink is None else layer.sink[[head]].astype(np.float64) / temperature
    weights = attention.softmax(logits, allowed, sink=sink)
    weighted = weights[:, None] * values
    return HeadSteps(query, keys, values, products, dots, scaled, bias, logits, allowed, weights, weighted,
                   weighted.sum(0), 0.0 if sink is None else float(1 - weights.sum()))


def _row(block: np.ndarray, head: int) -> np.ndarray:
    """Return the row (key) of a mask or bias block with a single query."""
    row = (block[head if len(block) > 1 else 0] if block.ndim == 3 else block)[0]
    return row if row.dtype == bool else row.astype(np.float64)


def ranked_products(products: np.ndarray, keep: int,
                    pairs: tuple[tuple[int, int], ...] = ()) -> list[tuple[str, float]]:
    """Return (name, contribution) of the `keep` products with the largest magnitude, in the order of dimensions, and of
    the others combined. The contributions sum to q·k.

    products: (d_k). A pair of dimensions that rotary positions rotate together counts as one, because only its sum is
    meaningful.
    """
    paired = {each for pair in pairs for each in pair}
    named = [(f"{a}+{b}", float(products[a] + products[b])) for a, b in pairs]
    named += [(str(place), float(product)) for place, product in enumerate(products) if place not in paired]
    named.sort(key=lambda each: -abs(each[1]))
    largest, rest = named[:keep], named[keep:]
    return largest + ([(f"other {len(rest)}", sum(value for _, value in rest))] if rest else [])


def angle(one: np.ndarray, other: np.ndarray) -> float:
    """Return the angle between two vectors in degrees, 0 to 180. Uses 2 atan2(‖a−b‖, ‖a+b‖) of the unit vectors, which
    is accurate near 0 and 180 (Kahan 2006)."""
    lengths = np.linalg.norm(one), np.linalg.norm(other)
    if min(lengths) == 0:
        return float("nan")
    a, b = one / lengths[0], other / lengths[1]
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))))


def plane(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (centre (d), axes (2, d), share of variance, 0 to 1) of the plane that preserves most variance of these
    points (point, d).

    Uses principal components (Pearson 1901). A point's coordinates are (point − centre) · axesᵀ.
    """
    centre = points.mean(0)
    _, sizes, axes = np.linalg.svd(points - centre, full_matrices=False)
    two = np.zeros((2, points.shape[1]))
    two[:len(axes[:2])] = axes[:2]
    total = float((sizes**2).sum())
    return centre, two, float((sizes[:2] ** 2).sum() / total) if total else 1.0


def hull(points: np.ndarray) -> np.ndarray:
    """Return the indices of the corners of the convex hull of points (point, 2), counter-clockwise. For collinear
    points, returns both ends."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points).vertices
    except (QhullError, ValueError):   # fewer than three points, or all collinear
        order = np.lexsort((points[:, 1], points[:, 0]))
        return np.unique(order[[0, -1]])


def hand_over(mixed: np.ndarray, w_output: np.ndarray) -> np.ndarray:
    """Return each head's contribution to the residual stream, float64 (head, d_model).

    A contribution is the head's output (head, d_v) times its rows of W_O (head, d_v, d_model). The sum of all
    contributions is Concat(heads) · W_O; the sub-layer's output also includes a bias.
    """
    return np.einsum("hd,hdm->hm", mixed.astype(np.float64), w_output)


@with_arrays
class SmallHead:
    """One token's row in a small head, float64."""

    dots: np.ndarray      # q · k, (key)
    scores: np.ndarray    # divided by √2, (key)
    weights: np.ndarray   # (key)
    mix: np.ndarray       # Σ p v, (2)


def attend(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> SmallHead:
    """Attend with a query (2) to keys and values (key, 2)."""
    dots = keys @ query
    scores = dots / np.sqrt(2)
    weights = attention.softmax(scores)
    return SmallHead(dots, scores, weights, weights @ values)


def inside_by(point: np.ndarray, values: np.ndarray) -> float:
    """Return the distance of a point (2) inside the convex hull of values (value, 2) from the nearest edge. Negative
    outside, 0 if the hull is a line or a point."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(-(ConvexHull(values).equations @ [*point, 1]).max())
    except (QhullError, ValueError):
        return 0.0
