"""A head in two dimensions, small enough to be moved by hand: equation (1) of Vaswani et al. 2017 with d_k = d_v = 2.

viz/components/arrows/attention.js computes the same in the browser while somebody drags."""
from dataclasses import dataclass

import numpy as np

from model.lessons.head_steps import hull, row_softmax


@dataclass(frozen=True, eq=False)
class SmallHead:
    """One token's row of the head, float64."""

    dots: np.ndarray      # q · k, (key)
    scores: np.ndarray    # divided by √2, (key)
    weights: np.ndarray   # (key)
    mix: np.ndarray       # Σ p v, (2)


def attend(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> SmallHead:
    """What a query (2) makes of keys and values (key, 2)."""
    dots = keys @ query
    scores = dots / np.sqrt(2)
    weights, _ = row_softmax(scores, np.ones(len(keys), bool))
    return SmallHead(dots, scores, weights, weights @ values)


def inside_by(point: np.ndarray, values: np.ndarray) -> float:
    """How far a point (2) of the hull of values (value, 2) is from its nearest edge; below 0 for one beyond it, 0 where
    the hull is a line or a point."""
    corners = values[hull(values)]
    if len(corners) < 3:
        return 0.0
    along = np.roll(corners, -1, axis=0) - corners
    beside = point - corners
    return float(((along[:, 0] * beside[:, 1] - along[:, 1] * beside[:, 0]) / np.linalg.norm(along, axis=-1)).min())
