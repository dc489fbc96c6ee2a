"""Do two rankings agree, and how sure is that? Spearman's rank correlation, its mean over texts with an interval, and chance. numpy only."""
import functools
from dataclasses import dataclass

import numpy as np

from model.core import ranks

DRAWS = 2_000
LEVEL = 0.95
SEED = 2019
FEWEST = 5     # tokens: with four, two rankings are equal or opposite one time in twelve


def even(values: np.ndarray) -> np.ndarray:
    """The values as shares of the largest to ten decimals, so that what differs by rounding only is equal."""
    values = np.asarray(values, np.float64)
    return np.round(values / max(float(np.abs(values).max(initial=0)), 1e-300), 10)


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's ρ (1904); NaN below five values, and where one of the two is constant up to rounding."""
    return ranks.spearman(even(first), even(second)) if len(first) >= FEWEST else float("nan")


@functools.lru_cache(maxsize=256)
def chance(count: int, draws: int = 20_000) -> float:
    """The |ρ| that two unrelated rankings of so many tokens reach at most one time in twenty, over random orders with a fixed seed."""
    rng = np.random.default_rng(SEED)
    order = rng.permuted(np.tile(np.arange(count, dtype=np.float64), (draws, 1)), axis=1)
    centred = np.arange(count) - (count - 1) / 2
    sizes = np.sort(np.abs(order @ centred) / (centred @ centred))
    reached = 1 - np.searchsorted(sizes, sizes - 1e-9) / draws
    return float(sizes[np.argmax(reached <= 1 - LEVEL)])


@dataclass(frozen=True)
class Mean:
    """A mean over texts with its 95 % interval, and over how many texts it is; NaN where no text has the number."""

    value: float
    low: float
    high: float
    texts: int


def means(values: np.ndarray, groups: np.ndarray | None = None) -> list[Mean]:
    """The mean of each column of `values` (text, column), NaN left out, with the percentile interval of a bootstrap over texts.

    groups (text): texts that are alike, such as twins of one frame, are drawn together. Efron 1979; 2,000 draws with a fixed seed.
    """
    values = np.asarray(values, np.float64)
    groups = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    there = np.isfinite(values)
    sums, counts = (_by_group(each, groups) for each in (np.where(there, values, 0), there.astype(np.float64)))
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (DRAWS, len(sums)))
    total, count = sums[drawn].sum(1), counts[drawn].sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = total / count
    return [_mean(values[there[:, column], column], each[:, column]) for column in range(values.shape[1])]


def _by_group(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    total = np.zeros((groups.max() + 1, values.shape[1]))
    np.add.at(total, groups, values)
    return total


def _mean(values: np.ndarray, drawn: np.ndarray) -> Mean:
    if not len(values):
        return Mean(float("nan"), float("nan"), float("nan"), 0)
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Mean(float(values.mean()), float(low), float(high), len(values))
