"""Statistics that several modules share: entropy and divergence, cosines, rank correlation, bootstrap intervals and
null distributions.

scipy.stats takes half a second to import, so the functions that need it import it themselves.
"""
import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from clearhead.model.core.query import frozen

LOGARITHMS = {2: np.log2, math.e: np.log}
DRAWS = 2_000      # per bootstrap, and per permutation test
LEVEL = 0.95
SEED = 2019
FEWEST = 8         # independent units below which there is no interval and no p-value: resampling fewer is too narrow
EXACT = 7          # most values for which all orders are enumerated


def x_log_x(x: np.ndarray, base: float) -> np.ndarray:
    """Compute x log x, with 0 log 0 = 0."""
    return x * LOGARITHMS[base](x, out=np.zeros_like(x), where=x > 0)


def entropy(p: np.ndarray, base: float) -> np.ndarray:
    """Compute −Σ p log p over the last axis, at least 0: in bits with base 2, in nats with base e (Shannon 1948)."""
    return np.maximum(-x_log_x(p, base).sum(-1), 0)


def jensen_shannon(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Compute the Jensen–Shannon divergence in bits, 0 to 1, of rows (..., key) that each sum to 1 (Lin 1991)."""
    return np.maximum(entropy((p + q) / 2, base=2) - (entropy(p, base=2) + entropy(q, base=2)) / 2, 0)


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Compute the cosine of two vectors (d), −1 to 1."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def relative_changes(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Compute the change of each vector (..., d) relative to its length, float64 (...)."""
    first = before.astype(np.float64)
    return np.linalg.norm(after - first, axis=-1) / np.linalg.norm(first, axis=-1)


def top_p(probabilities: np.ndarray, p: float) -> np.ndarray:
    """Keep only the most probable words, as few as reach p together, and renormalise, (word) (Holtzman et al. 2020)."""
    order = np.argsort(-probabilities, kind="stable")
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    chosen = order[before < p]
    kept[chosen] = probabilities[chosen]
    return kept / kept.sum()


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Divide each row of vectors (..., d) by its length, float64; a row of length 0 stays 0."""
    vectors = vectors.astype(np.float64)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Compute the cosines of all pairs of rows, float64 (n, m), of vectors (n, d) and (m, d); 0 for a vector of length
    0."""
    return unit_rows(one) @ unit_rows(other).T


def rounded_shares(values: np.ndarray) -> np.ndarray:
    """Divide by the row's largest value and round to ten decimals, (..., value). Values that differ only by rounding
    errors become ties."""
    values = np.asarray(values, np.float64)
    return np.round(values / np.maximum(np.abs(values).max(-1, keepdims=True, initial=0), 1e-300), 10)


def rank_correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute Spearman's ρ (1904) of every row of `first` (n, value) with every row of `second` (m, value), float64 (n,
    m).

    NaN for rows that are constant up to rounding.
    """
    from scipy.stats import rankdata

    ranks = (rankdata(rounded_shares(rows), axis=-1) for rows in (first, second))
    one, other = (rows - rows.mean(-1, keepdims=True) for rows in ranks)
    size = np.linalg.norm(one, axis=-1)[:, None] * np.linalg.norm(other, axis=-1)
    return np.divide(one @ other.T, size, out=np.full(size.shape, np.nan), where=size > 0)


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Compute Spearman's ρ of two lists of values (value)."""
    return float(rank_correlations(first[None], second[None])[0, 0])


@functools.lru_cache(maxsize=256)
def critical_rho(count: int) -> float:
    """Return the 5% critical value of |ρ| for `count` values, from all orders of up to EXACT values, else from random
    orders with a fixed seed. Infinity for fewer than five values, which reach |ρ| = 1 more often than that."""
    if count < 5:
        return math.inf
    order = np.arange(count, dtype=np.float64)
    orders = (np.array([*itertools.permutations(order)]) if count <= EXACT
              else np.random.default_rng(SEED).permuted(np.tile(order, (20_000, 1)), axis=1))
    centred = order - order.mean()
    sizes = np.sort(np.abs(orders @ centred) / (centred @ centred))
    reached = 1 - np.searchsorted(sizes, sizes - 1e-9) / len(sizes)
    return float(sizes[np.argmax(reached <= 1 - LEVEL)])


@frozen
class MeanInterval:
    """A mean over texts with its 95% interval. NaN if no text has a value; low and high are also NaN for fewer than
    FEWEST independent units."""

    value: float
    low: float
    high: float
    texts: int   # number of texts with a value
    units: int   # number of independent units among them: groups of texts


UNMEASURED = MeanInterval(math.nan, math.nan, math.nan, 0, 0)


def too_few(units: int, counted: str) -> str:
    """Say why there is no interval and no p-value; "" if there are enough units. counted: their name in the plural."""
    return "" if units >= FEWEST else f"no interval and no p-value: {units} independent {counted}, fewer than {FEWEST}"


def interval_columns(name: str, intervals: Iterable[MeanInterval]) -> dict[str, np.ndarray]:
    """Return the columns of a table: the means under this name, low and high."""
    return dict(zip((name, "low", "high"),
                    np.array([(each.value, each.low, each.high) for each in intervals]).T, strict=True))


def numbered(names: Sequence[str]) -> np.ndarray:
    """Number the different names in the order of their first occurrence, int64 (name)."""
    from pandas import factorize

    return factorize(np.array(names, object))[0]


def sums_by_group(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sum over the texts of each group: (text, …) to (group, …). `groups`, (text), holds each text's group number."""
    total = np.zeros((groups.max() + 1, *values.shape[1:]))
    np.add.at(total, groups, values)
    return total


def mean_intervals(values: np.ndarray, groups: np.ndarray | None = None) -> list[MeanInterval]:
    """Return the mean of each column of `values` (text, column), ignoring NaN, with the percentile interval of a
    bootstrap (Efron 1979) over independent groups of texts; by default each text is one."""
    values = np.asarray(values, np.float64)
    groups = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    there = np.isfinite(values)
    sums, counts = sums_by_group(np.where(there, values, 0), groups), sums_by_group(there.astype(np.float64), groups)
    intervals = []
    for total, count, column in zip(sums.T, counts.T, values.T, strict=True):
        low, high = ratio_interval(total, count)
        mean = float(np.nanmean(column)) if count.any() else math.nan
        intervals.append(MeanInterval(mean, low, high, int(count.sum()), int(np.count_nonzero(count))))
    return intervals


def ratio_interval(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Return the bootstrap percentile interval of Σ above / Σ below, both (group), resampled together; NaN if fewer
    than FEWEST groups have a part in `below`."""
    from scipy import stats

    if np.count_nonzero(below) < FEWEST:
        return math.nan, math.nan
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")   # draws in which no group has a value
        drawn = stats.bootstrap((above, below), lambda one, other, axis: one.sum(axis) / other.sum(axis), paired=True,
                                vectorized=True, n_resamples=DRAWS, method="percentile",
                                rng=np.random.default_rng(SEED)).bootstrap_distribution
        return percentiles(drawn)


def percentiles(drawn: np.ndarray) -> tuple[float, float]:
    """Return the ends of the 95% percentile interval of bootstrap draws, ignoring NaN."""
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def accuracy_intervals(correct: np.ndarray, groups: np.ndarray, draws: int = DRAWS) -> list[MeanInterval]:
    """Return the mean of each column of `correct` (text, column), 0 to 1, with the expanded percentile interval of a
    bootstrap over independent groups of texts, numbered from 0.

    The percentiles are widened for few groups (Hesterberg 2015, section 5.3: z becomes t √(n / (n - 1)) with n groups).
    If all groups are entirely right or entirely wrong, resampling has no variance and the exact bound for n groups is
    used (Clopper and Pearson 1934).
    """
    from scipy import stats

    values, count = correct.mean(0), int(groups.max()) + 1
    if count < FEWEST:
        return [MeanInterval(float(value), math.nan, math.nan, len(correct), count) for value in values]
    # how often each group is drawn
    times = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), draws)
    means = (times @ sums_by_group(correct, groups)) / (times @ np.bincount(groups))[:, None]
    tail = stats.norm.cdf(stats.t.ppf((1 - LEVEL) / 2, count - 1) * math.sqrt(count / (count - 1)))
    low, high = np.quantile(means, (tail, 1 - tail), axis=0)
    exact = ((1 - LEVEL) / 2) ** (1 / count)
    low, high = np.where(values == 1, exact, low), np.where(values == 0, 1 - exact, high)
    return [MeanInterval(float(value), float(least), float(most), len(correct), count)
            for value, least, most in zip(values, low, high, strict=True)]


@frozen
class HeldOut:
    """The accuracy of a column that was chosen without the texts it is scored on."""

    accuracy: MeanInterval
    chosen: tuple[int, ...]   # the column of each choice


def best_column(correct: np.ndarray, weight: np.ndarray) -> int:
    """Return the most accurate column; ties go to the one with more weight. Both arrays are (text, column)."""
    return int(np.lexsort((weight.mean(0), correct.mean(0)))[-1])


def on_other_half(values: np.ndarray, half: np.ndarray,
                  best: Callable[[np.ndarray], int] | None = None) -> tuple[np.ndarray, tuple[int, int]]:
    """Return each text's value in the column that was chosen on the other half, (text), and the columns chosen on the
    texts marked by `half`, bool (text), and on the rest. best(part): chooses a column on these texts; by default, the
    one with the highest mean. values: (text, column)."""
    best = best or (lambda part: int(values[part].mean(0).argmax()))
    chosen = best(half), best(~half)
    return np.where(half, values[:, chosen[1]], values[:, chosen[0]]), chosen


def held_out_accuracy(correct: np.ndarray, weight: np.ndarray, groups: np.ndarray, half: np.ndarray) -> HeldOut | None:
    """Score each half of the texts with the column that was best on the other half. `half`, bool (text), marks one
    half; `chosen` holds its best column, then that of the rest. Return None if one half is empty. correct and weight:
    (text, column)."""
    if half.all() or not half.any():
        return None
    scored, chosen = on_other_half(correct, half, lambda part: best_column(correct[part], weight[part]))
    return HeldOut(accuracy_intervals(scored[:, None].astype(np.float64), groups)[0], chosen)


@frozen
class Luck:
    """The null distribution of the best column's accuracy. All but `best` are NaN for fewer than FEWEST independent
    units."""

    best: float      # accuracy of the best column
    mean: float      # mean of the best accuracy under the null
    high: float      # its 95th percentile
    p_value: float   # how often the null reaches the observed best, (1 + count) / (1 + draws)

    @classmethod
    def of(cls, reached: float, units: int, draw: Callable[[np.random.Generator], np.ndarray]) -> "Luck":
        """Compare the best accuracy reached with those that draw(rng) returns under the null, float64 (draw), leaving
        out NaN. units: number of independent units."""
        drawn = draw(np.random.default_rng(SEED)) if units >= FEWEST else np.zeros(0)
        drawn = drawn[np.isfinite(drawn)]
        if not len(drawn):
            return cls(reached, math.nan, math.nan, math.nan)
        return cls(reached, float(drawn.mean()), float(np.quantile(drawn, LEVEL)),
                   float((1 + (drawn >= reached - 1e-9).sum()) / (1 + len(drawn))))


def max_statistic_null(correct: np.ndarray, groups: np.ndarray, draws: int = DRAWS) -> Luck:
    """Run a max-statistic permutation test over the columns of `correct` (text, column): right and wrong are swapped at
    random per group of texts, jointly over all columns. groups: independent, numbered from 0."""
    leaning = sums_by_group(correct - 0.5, groups)
    return Luck.of(float(correct.mean(0).max()), len(leaning), lambda rng: 0.5 + (
        rng.choice((-1.0, 1.0), (draws, len(leaning))) @ leaning).max(1) / len(correct))
