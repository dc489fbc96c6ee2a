"""What a fit to a pattern is worth: how well even rows fit it, and how well the best pattern fits rows of random
weights."""
from dataclasses import dataclass

import numpy as np

from model.core.models import Models
from model.core.query import Kind, Query
from model.core.record import AttentionMap, Reported
from model.core.types import Progress
from model.studies.patterns import best_patterns, fit

DRAWS = 400       # heads of random weights
EVEN = "even"     # the pattern that a head without a habit fits
QUANTILE = 0.95   # what luck reaches one time in twenty lies above


@dataclass(frozen=True)
class PatternChanceQuery:
    """The chance of the patterns in one text, under the masks of its model's first layer."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "PatternChance":
        """The chance in the query's record."""
        return pattern_chance(models.record(self.query, report)[self.kind])


@dataclass(frozen=True)
class PatternChance:
    """What fits without a habit are."""

    even: dict[str, float]   # {pattern: fit of rows that share their weight evenly among the allowed keys}
    luck: float              # the best fit to any other pattern that random heads exceed one time in twenty
    tokens: int              # of the text

    @property
    def nbytes(self) -> int:
        """Bytes, about."""
        return 100 * len(self.even)


def pattern_chance(attention_map: AttentionMap, draws: int = DRAWS) -> PatternChance:
    """Even rows, and `draws` heads whose rows are drawn evenly from all rows of weights that the first layer's mask
    allows (Dirichlet distribution with all parameters 1), each with the pattern that it fits best, even rows aside,
    which are no habit; the draws are the same every time."""
    layer, random = attention_map.layers[0], np.random.default_rng(0)
    _, queries, keys = layer.shape
    block = layer.allowed.block(slice(0, queries), slice(0, keys))
    allowed = block if block.ndim == 2 else np.any(block, axis=0)
    raw = np.concatenate([np.ones((1, queries, keys)), random.exponential(size=(draws, queries, keys))])
    rows = np.where(allowed, raw, 0)
    weights = (rows / rows.sum(-1, keepdims=True)).astype(np.float32)
    fits = fit(AttentionMap(attention_map.kind, attention_map.queries, attention_map.keys,
                            (Reported(0, weights, layer.allowed),))).frame()
    even = {str(name): float(value) for name, value in fits.iloc[0].items()}
    best = best_patterns(fits.iloc[1:].drop(columns=EVEN))["fit"]
    return PatternChance(even, float(best.quantile(QUANTILE)), queries)
