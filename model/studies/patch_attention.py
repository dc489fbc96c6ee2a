"""Measure heads over a picture: attention distance, weight on tokens other than patches, rollout over all layers, and
patches with unusually long vectors. Only needs numpy.

Attention distance is defined as in Dosovitskiy et al. 2021, figure 7: the mean over query patches of Σ w · distance in
pixels between patch centres, over patches only, with weights rescaled to sum to 1. Rollout follows Abnar & Zuidema
2020. Outlier patches follow Darcet et al. 2024, who found that large models without registers store information about
the whole picture in a few patches with long vectors.
"""
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.query import HeadId, Kind, Progress, UserError, frozen, with_arrays
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import entropy
from clearhead.model.core.tokens import Tokens
from clearhead.model.studies.rollout import passed_weights, rollout, with_residual

if TYPE_CHECKING:
    from pandas import DataFrame

MEASURES = ("distance", "entropy", "special")
OUTLIER = 3.0   # an outlier patch has a vector longer than this multiple of the median length


@frozen
class PatchHeadsQuery(MapQuestion):
    """What do the heads of one kind attend to in a picture?"""

    def answer(self, models: Models, report: Progress) -> "PatchHeads":
        """Measure every head. Raises UserError for a text."""
        record = models.record(self.query, report)
        attention_map = record[self.kind]
        tokens, places = attention_map.keys, middles(record, attention_map.keys)
        apart = np.linalg.norm(places[:, None] - places, axis=-1)
        patches, count = list(tokens.patches), len(tokens)
        found = np.array([_of_head(weights.astype(np.float64), patches, apart)
                          for layer in attention_map.layers for weights in heads.whole(layer)])
        even = dict(zip(MEASURES, _of_head(np.full((count, count), 1 / count), patches, apart), strict=True))
        return PatchHeads(heads.head_ids(attention_map), **dict(zip(MEASURES, found.T, strict=True)), even=even)


@with_arrays
class PatchHeads:
    """The measures of all heads over a picture. Arrays are float64 (head)."""

    heads: tuple[HeadId, ...]      # in the order of the arrays
    distance: np.ndarray           # attention distance between patches in pixels, mean over query patches
    entropy: np.ndarray            # bits, mean over all query tokens
    special: np.ndarray            # weight on tokens other than patches, mean over query patches
    even: dict[str, float]         # the three values for uniform attention

    def frame(self) -> "DataFrame":
        """Return one row per head: distance, entropy and special."""
        return heads.head_frame(self.heads, {name: getattr(self, name) for name in MEASURES})


def middles(record: AttentionRecord, tokens: Tokens) -> np.ndarray:
    """Return the centres of the patches in pixels (x, y), float64 (patch, 2)."""
    if record.picture is None or tokens.grid is None:
        raise UserError("These measures need a picture, and the input is a text; choose a model of pictures.")
    boxes = np.array([box for box in tokens.boxes if box is not None])   # left, top, right, bottom
    return (boxes[:, :2] + boxes[:, 2:]) / 2 * record.picture.shape[1::-1]


def _of_head(weights: np.ndarray, patches: list[int], apart: np.ndarray) -> tuple[float, float, float]:
    """Return attention distance, entropy and weight on special tokens for one head's weights (query, key)."""
    between = weights[np.ix_(patches, patches)]
    sums, rows = between.sum(1), weights[patches].sum(1)
    far = np.divide((between * apart).sum(1), sums, out=np.full(len(sums), np.nan), where=sums > 0)
    return (float(np.nanmean(far)) if np.isfinite(far).any() else float("nan"), float(entropy(weights, base=2).mean()),
            float((1 - sums / np.maximum(rows, 1e-12)).mean()))


@frozen
class PatchRolloutQuery(MapQuestion):
    """How does rollout differ from the variant in a widely copied program?"""

    discard: float = 0.9   # share of each layer's mean weights to discard, smallest first

    def answer(self, models: Models, report: Progress) -> "PatchRollout":
        """Compute both variants."""
        record = models.record(self.query, report)
        attention_map = record[self.kind]
        if attention_map.kind.base is Kind.CROSS:
            raise UserError("Rollout needs one list of tokens in all layers; choose self-attention.")
        right, copied = [], []
        for layer in attention_map.layers:
            mean = passed_weights(layer, self.kind, record.asked.edits).mean(0, dtype=np.float64)
            kept = with_residual(without_smallest(mean, self.discard)[None])
            right.append(kept / kept.sum(1, keepdims=True))
            # the program broadcasts the row sums along the wrong axis: it divides cell (i, j) by the sum of row j
            copied.append(kept / kept.sum(1)[np.newaxis])
        return PatchRollout(rollout(right), rollout(copied))


@with_arrays
class PatchRollout:
    """Rollout over all layers, float64 (token, token): rows are queries, columns keys."""

    right: np.ndarray    # with rows rescaled to sum to 1 after discarding
    copied: np.ndarray   # as in the program, whose rescaling does not make rows sum to 1


def without_smallest(weights: np.ndarray, share: float) -> np.ndarray:
    """Set the smallest `share` of all weights (query, key) to 0. As in the original program, the first token's weight
    on itself is kept."""
    flat = weights.flatten()
    count = int(weights.size * share)
    smallest = np.argpartition(flat, count - 1)[:count]
    flat[smallest[smallest != 0]] = 0
    return flat.reshape(weights.shape)


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the Euclidean lengths of vectors (token, d), float64 (token)."""
    return np.linalg.norm(vectors.astype(np.float64), axis=1)


def outliers(norms: np.ndarray, patches: tuple[int, ...]) -> tuple[int, ...]:
    """Return the patches whose vector is longer than OUTLIER times the median length over all patches."""
    limit = OUTLIER * np.median(norms[list(patches)])
    return tuple(patch for patch in patches if norms[patch] > limit)
