"""The division by √d_k in a head that was trained with it (or, as T5, without it)."""
from dataclasses import dataclass
from typing import cast

import numpy as np

from model.core import heads
from model.core.record import Layer
from model.core.statistics import entropy


@dataclass(frozen=True, eq=False)
class HeadScale:
    """What the division by √d_k does in one head."""

    divisor: float                   # what the head really divides by
    d_k: int                         # width of its queries and keys
    component: tuple[float, float]   # mean square of a component of q and of k
    predicted: float                 # standard deviation of q · k if components were independent
    measured: float                  # standard deviation that it has
    entropy: dict[str, np.ndarray]   # {"own" or "undone": of each row, bits (query)}
    absorbed: float                  # largest difference of weights between q · k · scale and (q · scale) · k


def head_scale(layer: Layer, head: int) -> HeadScale:
    """What the division does to this head, and what the head looks like when only the division is taken away."""
    import torch

    from model.core import attention

    query = layer.query[head].astype(np.float64)
    key = layer.key[head // (layer.heads // layer.key.shape[0])].astype(np.float64)
    dots = query @ key.T
    scores = torch.from_numpy(cast(np.ndarray, heads.scores(layer, head)).astype(np.float64))
    allowed = ~torch.isnan(scores)
    rest = torch.nan_to_num(scores) - torch.from_numpy(dots * layer.scale)     # bias, and what a soft-cap took
    own = attention.softmax(torch.nan_to_num(scores), allowed).numpy()
    undone = attention.softmax(torch.from_numpy(dots) + rest, allowed).numpy()
    folded = attention.softmax(torch.from_numpy((query * layer.scale) @ key.T) + rest, allowed).numpy()
    squares = float((query**2).mean()), float((key**2).mean())
    return HeadScale(1 / layer.scale, query.shape[1], squares,
                     float(np.sqrt(query.shape[1] * squares[0] * squares[1])), float(dots.std()),
                     {"own": entropy(own, base=2), "undone": entropy(undone, base=2)},
                     float(np.abs(own - folded).max()))
