"""What an edit inside the model changes: two records of the same text, before and after."""
import numpy as np

from model.core import heads
from model.core.query import Kind
from model.core.record import AttentionRecord, Prediction
from model.core.statistics import cosine
from model.core.types import HeadId


def row_change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Total variation distance ½ Σ_j |w'_j − w_j| of rows (..., key): the share of the attention that moved, 0 to 1."""
    return np.abs(after.astype(np.float64) - before).sum(-1) / 2


def head_changes(before: AttentionRecord, after: AttentionRecord, kind: Kind) -> dict[HeadId, float]:
    """{(layer, head): share of the attention that moved}, the mean over the text's queries."""
    moved: dict[HeadId, float] = {}
    for old, new in zip(before[kind].layers, after[kind].layers, strict=True):
        totals = np.zeros(old.heads)
        for (_, _, first), (_, _, second) in zip(heads.weight_blocks(old), heads.weight_blocks(new), strict=True):
            totals += row_change(first, second).sum(-1)
        moved.update({(old.index, head): float(total / old.shape[1]) for head, total in enumerate(totals)})
    return moved


def by_layer(values: dict[HeadId, float]) -> tuple[np.ndarray, list[int]]:
    """The same numbers as float64 (layer, head), NaN where a layer has no such head, and the layers' numbers in the
    model."""
    layers = sorted({layer for layer, _ in values})
    grid = np.full((len(layers), 1 + max(head for _, head in values)), np.nan)
    for (layer, head), value in values.items():
        grid[layers.index(layer), head] = value
    return grid, layers


def answer_change(before: Prediction | None, after: Prediction | None) -> tuple[str, float] | None:
    """(what was compared, its change): "vector" with 1 − cosine of the sentence vectors; else "probability" with how
    far the best guess's probability moved at the last position. None for a model that predicts nothing, or whose best
    guess left the twenty that are kept."""
    if before is None or after is None:
        return None
    if before.vector is not None and after.vector is not None:
        return "vector", max(0.0, 1 - cosine(before.vector, after.vector))   # rounding can bring it below 0
    if not before.ids or before.ids[-1][0] not in after.ids[-1]:
        return None
    return "probability", after.probabilities[-1][after.ids[-1].index(before.ids[-1][0])] - before.probabilities[-1][0]
