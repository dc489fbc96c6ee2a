r"""Find the simple pattern that fits a head best.

A pattern specifies a set of keys for every query, with equal weights. A head's fit is 1 minus the mean Jensen–Shannon
divergence in bits (Lin 1991) between its rows and the pattern's: 1 is a perfect fit, 0 no overlap. One of the patterns
is *even*, with equal weights on all allowed keys; it labels heads without a preference.
"""
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.attention import grid
from clearhead.model.core.heads import CLARK
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.query import HeadId, Kind, Progress, frozen, slices, with_arrays
from clearhead.model.core.record import AttentionMap, Reported
from clearhead.model.core.statistics import x_log_x

if TYPE_CHECKING:
    from pandas import DataFrame


MIN_ROW_SHARE = 0.5    # minimum share of rows with a key of the pattern; over fewer rows, a good fit may be chance


@frozen
class FitsQuery(MapQuestion):
    """How well does every head of one kind fit every pattern?"""

    def answer(self, models: Models, report: Progress) -> "HeadFits":
        """Compute the fits."""
        return fit(self.attention_map(models, report))


@with_arrays
class KeyInfo:
    """The properties of keys that patterns depend on."""

    special: np.ndarray   # which keys are special tokens, bool (key)
    ids: np.ndarray       # ids of the keys, int (key)


@frozen
class Pattern:
    """A simple rule for which keys a query attends to."""

    name: str    # used in files and links
    title: str   # shown on pages
    paper: str   # source that describes such heads
    # keys(i, j, info) returns which keys the pattern contains, bool (row, key). i is a column vector of queries, j a
    # row vector of keys
    keys: Callable[[np.ndarray, np.ndarray, KeyInfo], np.ndarray]
    valid_for_cross: bool = False   # whether it is defined for cross-attention


def _equal(i: np.ndarray, j: np.ndarray, info: KeyInfo) -> np.ndarray:
    """Return whether the key is another occurrence of the query's token; special tokens do not count."""
    return (info.ids[j] == info.ids[i]) & (i != j) & ~info.special[i]


def _after_equal(i: np.ndarray, j: np.ndarray, info: KeyInfo) -> np.ndarray:
    return (j > 0) & _equal(i, np.maximum(j - 1, 0), info)


PATTERNS = (
    Pattern("previous", "the previous token", CLARK, lambda i, j, info: j == i - 1),
    Pattern("next", "the next token", CLARK, lambda i, j, info: j == i + 1),
    Pattern("same", "itself", CLARK, lambda i, j, info: j == i),
    Pattern("first", "the first token", CLARK, lambda i, j, info: (j == 0) & (i >= 0), valid_for_cross=True),
    Pattern("end", "the special tokens at the end", CLARK, lambda i, j, info: info.special[j] & (j > 0) & (i >= 0),
            valid_for_cross=True),
    Pattern("near", "two tokens to each side and itself", "Kovaleva et al. 2019 (diagonal)",
            lambda i, j, info: np.abs(j - i) <= 2),
    Pattern("equal", "the same token elsewhere", "Wang et al. 2023 (duplicate-token heads)", _equal),
    Pattern("after", "what followed the same token elsewhere", "Olsson et al. 2022 (induction heads)", _after_equal),
    Pattern("even", "all tokens evenly", CLARK, lambda i, j, info: (i >= 0) & (j >= 0), valid_for_cross=True),
)
NONE = "none"   # label for heads that fit no pattern well
TITLES = {each.name: each.title for each in PATTERNS} | {NONE: "no simple pattern"}
SIMPLE = 0.7    # minimum fit for labelling a head with its best pattern


@with_arrays
class HeadFits:
    """The fit of every head of one kind to every pattern."""

    kind: Kind
    heads: tuple[HeadId, ...]     # in the order of the arrays
    # {pattern: float64 (head), 0 to 1}; NaN for heads to which the pattern does not apply
    fits: dict[str, np.ndarray]

    def frame(self) -> "DataFrame":
        """Return the fits, 0 to 1, with one row per head and one column per pattern."""
        return heads.head_frame(self.heads, self.fits)

    def best(self) -> "DataFrame":
        """Return the best pattern of every head, see `best_patterns`."""
        return best_patterns(self.frame())


def best_patterns(fits: "DataFrame") -> "DataFrame":
    """Return each head's best pattern from a table of fits (head, pattern), with the columns pattern and fit. The first
    pattern wins a tie."""
    from pandas import DataFrame

    return DataFrame({"pattern": fits.idxmax(axis=1), "fit": fits.max(axis=1)})


def named(best: "DataFrame") -> "DataFrame":
    """Replace the pattern by NONE for heads whose best fit is below SIMPLE."""
    return best.assign(pattern=best["pattern"].where(best["fit"] >= SIMPLE, NONE))


def divergences(block: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the divergence in bits between weights (head, row, key) and equal weights on `cells`, bool (row, key),
    summed over the rows that have such a cell, float64 (head), and the number of these rows.

    Only weights on `cells` are needed: every other weight is halved in the mixture and contributes half of itself. The
    weight of an attention sink outside the keys is treated as one more key that no pattern contains.
    """
    counts = cells.sum(1)
    shares = np.repeat(0.5 / np.maximum(counts, 1), counts)
    half = block[:, cells].astype(np.float64) / 2
    rows = counts[counts > 0]
    return (x_log_x(half, base=2) - x_log_x(half + shares, base=2)).sum(1) + (0.5 - np.log2(rows) / 2).sum(), len(rows)


def fit(attention_map: AttentionMap) -> HeadFits:
    """Compute the fit of every head to every pattern that has keys in at least MIN_ROW_SHARE of the rows."""
    attention_map.check_unsigned("the fit to a pattern")
    info = KeyInfo(np.array(attention_map.keys.special), np.array(attention_map.keys.ids))
    patterns = [pattern for pattern in PATTERNS if pattern.valid_for_cross or attention_map.kind.base is not Kind.CROSS]
    found = []
    for layer in attention_map.layers:
        sums = {pattern.name: np.zeros((2, layer.heads)) for pattern in patterns}
        for rows, keys, block in heads.weight_blocks(layer):
            nothing = layer.sees_nothing[:, rows]
            allowed = heads.allowed_cells(layer.allowed, rows, keys)
            i, j = grid(rows, keys)
            for pattern in patterns:
                cells = pattern.keys(i, j, info) & allowed
                total, count = divergences(block, cells)
                blind = (nothing & cells.any(1)).sum(1)   # fully masked rows, whose divergence was counted as 1 bit
                sums[pattern.name] += total - blind, count - blind
        least = np.maximum(1, MIN_ROW_SHARE * (~layer.sees_nothing).sum(1))
        found.append({name: np.clip(1 - np.divide(total, count, out=np.full(layer.heads, np.nan), where=count >= least),
                                    0, 1) for name, (total, count) in sums.items()})
    return HeadFits(attention_map.kind, heads.head_ids(attention_map),
                    {name: each for name, each in heads.joined(found).items() if not np.isnan(each).all()})


DRAWS = 400       # number of random heads
BLOCK = 2**22     # weights of random heads that are held at once
EVEN = "even"     # the pattern of heads without a preference
QUANTILE = 0.95   # quantile of the null distribution


@frozen
class PatternChanceQuery(MapQuestion):
    """What fits does chance alone give in one text, under the mask of the model's first layer?"""

    def answer(self, models: Models, report: Progress) -> "PatternChance":
        """Compute the fits of uniform and of random rows."""
        return pattern_chance(self.attention_map(models, report))


@frozen
class PatternChance:
    """The fits of uniform and of random heads."""

    even: dict[str, float]   # {pattern: fit of uniform rows}
    luck: float              # 95th percentile of the best fit of a random head to any pattern except even
    tokens: int              # number of tokens in the text


def pattern_chance(attention_map: AttentionMap, draws: int = DRAWS) -> PatternChance:
    """Compute the fits of uniform rows and the null distribution of the best fit.

    The null distribution consists of `draws` random heads, whose rows are uniformly distributed over all weights that
    the first layer's mask allows (a flat Dirichlet distribution). The best fit of each one excludes the pattern even.
    The random seed is fixed.
    """
    from pandas import concat

    layer, random = attention_map.layers[0], np.random.default_rng(0)
    _, queries, keys = layer.shape
    allowed, found = heads.allowed_cells(layer.allowed, slice(0, queries), slice(0, keys)), []
    for some in slices(draws + 1, max(1, BLOCK // allowed.size)):
        rows = allowed * [random.exponential(size=allowed.shape) if head else np.ones(allowed.shape)
                          for head in range(some.start, some.stop)]
        weights = rows / np.where(allowed.any(1, keepdims=True), rows.sum(-1, keepdims=True), 1)
        found.append(fit(replace(attention_map, layers=(Reported(0, weights.astype(np.float32), layer.allowed),))
                         ).frame())
    fits = concat(found)
    best = best_patterns(fits.iloc[1:].drop(columns=EVEN))["fit"]
    return PatternChance(fits.iloc[0].to_dict(), float(best.quantile(QUANTILE)), queries)
