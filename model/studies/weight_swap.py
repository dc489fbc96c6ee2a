"""Test whether the answer depends on a head's weights by permuting them (Jain & Wallace 2019) or making them uniform
(Wiegreffe & Pinter 2019). Only needs numpy."""

import numpy as np

from clearhead.model.core import heads, statistics
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen, with_arrays
from clearhead.model.studies.attribution import AttributionQuery, kind_of
from clearhead.model.studies.rollout import uniform_rows


@frozen
class SwapQuery:
    """How does the answer change if one head's weights are made uniform or each row is permuted?"""

    attribution: AttributionQuery   # the answer in question
    layer: int
    head: int                       # head of the kind of attention that `kind_of` returns
    draws: int = 100                # number of permutations

    def answer(self, models: Models, report: Progress) -> "Swapped":
        """Compute the distances. Raises UserError for a model that only reports its weights."""
        explained = self.attribution.explained(models, report)
        record = models.record(explained.query, report)
        kind, size = kind_of(record), (len(explained.rows), len(explained.tokens))
        layer = record[kind].captured(self.layer, "they cannot be changed")
        weights = heads.weights(layer, self.head)[:size[0], :size[1]].astype(np.float64)
        may = heads.allowed_cells(layer.allowed, slice(0, size[0]), slice(0, size[1]), self.head)
        rng = np.random.default_rng(statistics.SEED)
        value = layer.value[layer.group(self.head)][:size[1]]
        outputs = [uniform_rows(may) @ value,
                   *(permute_rows(weights, may, rng) @ value for _ in range(self.draws))]
        distances = explained.with_head_values((kind, self.layer, self.head), np.stack(outputs), report)
        row = explained.rows @ weights
        return Swapped(float(distances[0]), distances[1:], float(row.max()), float(statistics.entropy(row, base=2)))


@with_arrays
class Swapped:
    """The distance between the model's old and new output: the total variation distance of probabilities, or 1 − cosine
    of sentence vectors."""

    even: float                   # distance with uniform weights
    permuted: np.ndarray          # distances with permuted weights, float64 (draw)
    largest: float                # the head's largest weight in the row of the answer
    entropy: float                # entropy of that row in bits


def permute_rows(weights: np.ndarray, may: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute each row's weights among its allowed keys, (query, key)."""
    permuted = np.zeros_like(weights)
    for query, keys in enumerate(map(np.flatnonzero, may)):
        permuted[query, keys] = weights[query, rng.permutation(keys)]
    return permuted
