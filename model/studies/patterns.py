r"""Which simple pattern a head fits best, and how well.

A pattern names, for every token that looks, the keys that it would look at, each with an equal share. A head's fit is 1
minus the mean Jensen–Shannon divergence in bits between its rows and the pattern's (Lin 1991): 1 is exactly the
pattern, 0 has nothing of it. *even* (an equal share for every allowed key) is a pattern among the others, so that a
head without a habit is called by that name. """
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


MIN_ROW_SHARE = 0.5    # share of the rows that must have a key of the pattern; on fewer rows a fit is luck


@dataclass(frozen=True)
class FitsQuery:
    """The fit of every head of one kind to every pattern."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "HeadFits":
        """Return the fits in the query's record."""
        return fit(models.record(self.query, report)[self.kind])


@dataclass(frozen=True, eq=False)
class KeyInfo:
    """What patterns know of a text."""

    special: np.ndarray   # which keys are special tokens, bool (key)
    ids: np.ndarray       # the keys' numbers in the vocabulary, int (key)


@dataclass(frozen=True)
class Pattern:
    """A simple rule for where a token looks."""

    name: str    # in files and links
    title: str   # for people
    paper: str   # where heads like it were described
    # keys(i, j, info): which keys it names, bool (row, key), for column vectors of queries i and row vectors of keys j
    keys: Callable[[np.ndarray, np.ndarray, KeyInfo], np.ndarray]
    valid_for_cross: bool = False   # whether it means anything where queries and keys are different texts


def _equal(i: np.ndarray, j: np.ndarray, info: KeyInfo) -> np.ndarray:
    """Return the same token elsewhere in the text; special tokens have no text to share."""
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
NONE = "none"   # the name of what fits no pattern well
TITLES = {each.name: each.title for each in PATTERNS} | {NONE: "no simple pattern"}
SIMPLE = 0.7    # the least fit at which a head is called by its best pattern


@dataclass(frozen=True, eq=False)
class HeadFits:
    """How well every head of one kind fits every pattern."""

    kind: Kind
    heads: tuple[HeadId, ...]     # in the order of the arrays
    fits: dict[str, np.ndarray]   # {pattern: float64 (head), 0 to 1}, of those that apply; NaN where one does not

    def frame(self) -> "DataFrame":
        """Return one row a head, one column a pattern: the fit, 0 to 1."""
        return heads.head_frame(self.heads, self.fits)

    def best(self) -> "DataFrame":
        """Return `best_patterns` of all heads."""
        return best_patterns(self.frame())


def best_patterns(fits: "DataFrame") -> "DataFrame":
    """Of fits (head by pattern) the best one of each head: columns pattern (its name; of equals the first column) and
    fit."""
    from pandas import DataFrame

    return DataFrame({"pattern": fits.idxmax(axis=1), "fit": fits.max(axis=1)})


def named(best: "DataFrame") -> "DataFrame":
    """Return the same with NONE for the pattern of a head that fits even its best one by less than SIMPLE."""
    return best.assign(pattern=best["pattern"].where(best["fit"] >= SIMPLE, NONE))


def divergences(block: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the sum over rows of the divergence between weights (head, row, key) and equal shares on `cells`, bool
    (row, key): float64 (head) in bits, and how many rows have such a cell. Only weights on the cells matter: all others
    are half as large in the mixture, which costs 1/2 bit.

    What a row lacks to 1 (a sink's share) is one more key that no pattern names.
    """
    counts = cells.sum(1)
    shares = np.repeat(0.5 / np.maximum(counts, 1), counts)
    half = block[:, cells].astype(np.float64) / 2
    rows = counts[counts > 0]
    return (x_log_x(half, base=2) - x_log_x(half + shares, base=2)).sum(1) + (0.5 - np.log2(rows) / 2).sum(), len(rows)


def _blocks(layer: Layer | Reported, info: KeyInfo,
            patterns: list[Pattern]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (pattern, sum over rows (head), rows (head)) of every block of rows; those that see nothing are left
    out."""
    for rows, keys, block in heads.weight_blocks(layer):
        nothing = layer.sees_nothing[:, rows]
        allowed = layer.allowed.block(rows, keys)
        allowed = allowed if allowed.ndim == 2 else np.any(allowed, axis=0)
        i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(keys.start, keys.stop)[None, :]
        for pattern in patterns:
            cells = pattern.keys(i, j, info) & allowed
            total, count = divergences(block, cells)
            blind = (nothing & cells.any(1)).sum(1)   # the divergence of a row without weights is 1 bit
            yield pattern.name, total - blind, count - blind


def fit(attention_map: AttentionMap) -> HeadFits:
    """Return every head against every pattern that applies to at least half of the rows."""
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


DRAWS = 400       # heads of random weights
EVEN = "even"     # the pattern that a head without a habit fits
QUANTILE = 0.95   # what luck reaches one time in twenty lies above


@dataclass(frozen=True)
class PatternChanceQuery:
    """The chance of the patterns in one text, under the masks of its model's first layer."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "PatternChance":
        """Return the chance in the query's record."""
        return pattern_chance(models.record(self.query, report)[self.kind])


@dataclass(frozen=True)
class PatternChance:
    """What fits without a habit are."""

    even: dict[str, float]   # {pattern: fit of rows that share their weight evenly among the allowed keys}
    luck: float              # the best fit to any other pattern that random heads exceed one time in twenty
    tokens: int              # of the text


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
