r"""Find the simple pattern that a head fits best, and how well.

A pattern specifies the keys for every query, each with an equal share. A head's fit is 1 minus the mean Jensen–Shannon
divergence in bits between its rows and the pattern's (Lin 1991): 1 is a perfect fit, 0 no overlap. *even*, an equal
share for every allowed key, is one of the patterns, so that heads without a preference are labelled as such.
"""
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core import heads
from model.core.heads import CLARK
from model.core.models import Models
from model.core.query import HeadId, Kind, Progress, Query
from model.core.record import AttentionMap, Layer, Reported
from model.core.statistics import x_log_x

if TYPE_CHECKING:
    from pandas import DataFrame


MIN_ROW_SHARE = 0.5    # share of rows that must have a key of the pattern; with fewer rows, a good fit may be chance


@dataclass(frozen=True)
class FitsQuery:
    """The fit of every head of one kind to every pattern."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "HeadFits":
        """Compute the fits in the query's record."""
        return fit(models.record(self.query, report)[self.kind])


@dataclass(frozen=True, eq=False)
class KeyInfo:
    """The properties of keys that patterns depend on."""

    special: np.ndarray   # which keys are special tokens, bool (key)
    ids: np.ndarray       # ids of the keys, int (key)


@dataclass(frozen=True)
class Pattern:
    """A simple rule for which keys a query attends to."""

    name: str    # used in files and links
    title: str   # for display
    paper: str   # where such heads were described
    # keys(i, j, info): which keys it specifies, bool (row, key), for column vectors of queries i and row vectors of
    # keys j
    keys: Callable[[np.ndarray, np.ndarray, KeyInfo], np.ndarray]
    valid_for_cross: bool = False   # whether it applies when queries and keys are different texts


def _equal(i: np.ndarray, j: np.ndarray, info: KeyInfo) -> np.ndarray:
    """Return whether key and query are the same token elsewhere in the text; special tokens do not count."""
    return (info.ids[j] == info.ids[i]) & (i != j) & ~info.special[i]


def _after_equal(i: np.ndarray, j: np.ndarray, info: KeyInfo) -> np.ndarray:
    return (j > 0) & _equal(i, np.maximum(j - 1, 0), info)


KOVALEVA = "Kovaleva et al. 2019 (diagonal)"
WANG, OLSSON = "Wang et al. 2023 (duplicate-token heads)", "Olsson et al. 2022 (induction heads)"
PATTERNS = (
    Pattern("previous", "the previous token", CLARK, lambda i, j, info: j == i - 1),
    Pattern("next", "the next token", CLARK, lambda i, j, info: j == i + 1),
    Pattern("same", "itself", CLARK, lambda i, j, info: j == i),
    Pattern("first", "the first token", CLARK, lambda i, j, info: (j == 0) & (i >= 0), valid_for_cross=True),
    Pattern("end", "the special tokens at the end", CLARK, lambda i, j, info: info.special[j] & (j > 0) & (i >= 0),
            valid_for_cross=True),
    Pattern("near", "two tokens to each side and itself", KOVALEVA, lambda i, j, info: np.abs(j - i) <= 2),
    Pattern("equal", "the same token elsewhere", WANG, _equal),
    Pattern("after", "what stood behind the same token elsewhere", OLSSON, _after_equal),
    Pattern("even", "all tokens evenly", CLARK, lambda i, j, info: (i >= 0) & (j >= 0), valid_for_cross=True),
)
NONE = "none"   # label of heads that fit no pattern well
TITLES = {each.name: each.title for each in PATTERNS} | {NONE: "no simple pattern"}
SIMPLE = 0.7    # smallest fit at which a head is labelled with its best pattern


@dataclass(frozen=True, eq=False)
class HeadFits:
    """The fit of every head of one kind to every pattern."""

    kind: Kind
    heads: tuple[HeadId, ...]     # in the order of the arrays
    # {pattern: float64 (head), 0 to 1}, for patterns that apply; NaN for heads where one does not
    fits: dict[str, np.ndarray]

    def frame(self) -> "DataFrame":
        """Return one row per head and one column per pattern: the fit, 0 to 1."""
        return heads.head_frame(self.heads, self.fits)

    def best(self) -> "DataFrame":
        """Return `best_patterns` for all heads."""
        return best_patterns(self.frame())


def best_patterns(fits: "DataFrame") -> "DataFrame":
    """Return each head's best pattern from fits (head by pattern), with columns pattern (ties go to the first column)
    and fit."""
    from pandas import DataFrame

    return DataFrame({"pattern": fits.idxmax(axis=1), "fit": fits.max(axis=1)})


def named(best: "DataFrame") -> "DataFrame":
    """Replace the pattern by NONE for heads whose best fit is below SIMPLE."""
    return best.assign(pattern=best["pattern"].where(best["fit"] >= SIMPLE, NONE))


def divergences(block: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the sum over rows of the divergence between weights (head, row, key) and equal shares on `cells`, bool
    (row, key), float64 (head) in bits, and the number of rows with such a cell. Only weights on these cells matter: the
    others are halved in the mixture, which costs 1/2 bit.

    A sink's share of a row is treated as one more key that no pattern contains.
    """
    counts = cells.sum(1)
    shares = np.repeat(0.5 / np.maximum(counts, 1), counts)
    half = block[:, cells].astype(np.float64) / 2
    rows = counts[counts > 0]
    return (x_log_x(half, base=2) - x_log_x(half + shares, base=2)).sum(1) + (0.5 - np.log2(rows) / 2).sum(), len(rows)


def _blocks(layer: Layer | Reported, info: KeyInfo,
            patterns: list[Pattern]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (pattern, sum over rows (head), rows (head)) for every block of rows, without rows that are fully
    masked."""
    for rows, keys, block in heads.weight_blocks(layer):
        nothing = layer.sees_nothing[:, rows]
        allowed = layer.allowed.block(rows, keys)
        allowed = allowed if allowed.ndim == 2 else np.any(allowed, axis=0)
        i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(keys.start, keys.stop)[None, :]
        for pattern in patterns:
            cells = pattern.keys(i, j, info) & allowed
            total, count = divergences(block, cells)
            blind = (nothing & cells.any(1)).sum(1)   # a row without weights has a divergence of 1 bit
            yield pattern.name, total - blind, count - blind


def fit(attention_map: AttentionMap) -> HeadFits:
    """Fit every head to every pattern that applies to at least half of the rows."""
    info = KeyInfo(np.array(attention_map.keys.special), np.array(attention_map.keys.ids))
    patterns = [pattern for pattern in PATTERNS if pattern.valid_for_cross or attention_map.kind.base is not Kind.CROSS]
    found: dict[str, list[np.ndarray]] = {pattern.name: [] for pattern in patterns}
    for layer in attention_map.layers:
        totals, counts = ({name: np.zeros(layer.heads) for name in found} for _ in range(2))
        for name, total, rows in _blocks(layer, info, patterns):
            totals[name] += total
            counts[name] += rows
        least = np.maximum(1, MIN_ROW_SHARE * (~layer.sees_nothing).sum(1))
        for name, total in totals.items():
            fits = np.divide(total, counts[name], out=np.full(layer.heads, np.nan), where=counts[name] >= least)
            found[name].append(np.clip(1 - fits, 0, 1))
    fits = {name: np.concatenate(each) for name, each in found.items()}
    return HeadFits(attention_map.kind, heads.head_ids(attention_map),
                    {name: each for name, each in fits.items() if not np.isnan(each).all()})


DRAWS = 400       # random heads
EVEN = "even"     # the pattern of heads without a preference
QUANTILE = 0.95   # quantile of the null distribution


@dataclass(frozen=True)
class PatternChanceQuery:
    """The fits expected by chance in one text, under the masks of the model's first layer."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "PatternChance":
        """Compute them for the query's record."""
        return pattern_chance(models.record(self.query, report)[self.kind])


@dataclass(frozen=True)
class PatternChance:
    """Fits of heads without a preference."""

    even: dict[str, float]   # {pattern: fit of uniform rows}
    luck: float              # the best fit to any other pattern that random heads exceed one time in twenty
    tokens: int              # number of tokens in the text


def pattern_chance(attention_map: AttentionMap, draws: int = DRAWS) -> PatternChance:
    """Return the fits of uniform rows, and the null distribution from `draws` random heads, whose rows are uniformly
    distributed over all weights that the first layer's mask allows (Dirichlet distribution with all parameters 1). Each
    random head counts with its best pattern other than even; the draws are fixed."""
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
