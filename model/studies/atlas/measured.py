"""Compute the atlas's numbers for every head in one text: measures, pattern fits, detector scores, confidence and
sinks."""
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.attention import Mask, grid
from clearhead.model.core.heads import MEASURES, WeightBlock, allowed_cells, uniform_blocks
from clearhead.model.core.query import HeadId, Kind, frozen, with_arrays
from clearhead.model.core.record import AttentionMap, Layer, Reported
from clearhead.model.core.statistics import x_log_x
from clearhead.model.studies import patterns
from clearhead.model.studies.patterns import PATTERNS, KeyInfo


@frozen
class Bins:
    """Bins of a histogram: `count` bins between `low` and `high`, of equal width in x or in log2(1 + x). Values outside
    the range are counted in the first or last bin."""

    low: float
    high: float
    count: int = 200
    scale: str = "linear"   # or "log2"

    @property
    def edges(self) -> np.ndarray:
        """The edges of the bins, float64 (count + 1)."""
        if self.scale == "linear":
            return np.linspace(self.low, self.high, self.count + 1)
        return np.exp2(np.linspace(np.log2(1 + self.low), np.log2(1 + self.high), self.count + 1)) - 1

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return the bin index of each value, int64 of the same shape. A value on an edge belongs to the bin above."""
        return np.clip(np.searchsorted(self.edges, values, "right") - 1, 0, self.count - 1)


SHARE = Bins(0, 1)
BITS = Bins(0, 20)                    # entropy of a row, up to a million tokens
TOKENS = Bins(0, 2**20, scale="log2")


@frozen
class Number:
    """The definition of a number that is measured for each head in each text."""

    name: str           # name in the tables' column `measure`
    group: str          # measure, fit or detector
    title: str          # shown on pages
    equation: str       # LaTeX, for one query i with weights w_ij, or for the whole text
    unit: str           # unit of the values
    paper: str          # source of the definition
    bins: Bins          # histogram bins
    cell: str           # cell to open for an example, one of CELLS
    crosses: bool       # whether it is defined for cross-attention


DETECTED = {"detect_previous": ("previous", "previous-token detector"),   # {name: (pattern, title)}
            "detect_duplicate": ("equal", "duplicate-token detector"),
            "detect_induction": ("after", "induction detector")}
CONFIDENCE, WIDEST, FARTHEST, SPECIAL, LARGEST = "confidence", "widest", "farthest", "special", "largest"
# the largest weight within each pattern, then on a special token, in the whole matrix, after multiplying by distance,
# and in the row with the highest entropy
CELLS = (*(pattern.name for pattern in PATTERNS if pattern.name != "even"), SPECIAL, LARGEST, FARTHEST, WIDEST)
FIT = "fit_"                          # prefix of pattern fits
UNIFORM = "uniform_"                  # prefix of values for uniform attention
SINK = "sink_"                        # prefix of the weight that a position receives
POSITIONS = (*range(16), -2, -1)      # positions measured as sinks; negative ones count from the end


# the cell shown as an example of a measure, if it is not that of the pattern of the same name or of the largest weight
WIDE = {"entropy": WIDEST, "distance": FARTHEST}
NUMBERS = (
    *(Number(each.name, "measure", each.title, each.equation, each.unit, each.paper,
             {"entropy": BITS, "distance": TOKENS}.get(each.name, SHARE),
             WIDE.get(each.name, each.name if each.name in CELLS else LARGEST), each.crosses) for each in MEASURES),
    *(Number(FIT + each.name, "fit", f"fits: {each.title}", r"1 - \frac{1}{n}\sum_i \mathrm{JSD}(w_i, p_i)", "0 to 1",
             each.paper, SHARE, WIDEST if each.name == "even" else each.name, each.valid_for_cross)
      for each in PATTERNS),
    *(Number(name, "detector", title, r"\frac{\sum_{i,j} w_{ij} P_{ij}}{\sum_{i,j} w_{ij}}",
             "share of the text's weight", "Nanda & Bloom, TransformerLens: head detector (mul)", SHARE, pattern,
             False) for name, (pattern, title) in DETECTED.items()),
    Number(CONFIDENCE, "detector", "puts much on one token", r"\max_j w_{ij}", "share of the row",
           "Voita et al. 2019", SHARE, LARGEST, True))


@cache
def numbers_of(kind: Kind) -> tuple[Number, ...]:
    """Return the numbers that apply to this kind of attention."""
    return tuple(number for number in NUMBERS if number.crosses or kind.base is not Kind.CROSS)


@cache
def rows_of(kind: Kind) -> tuple[str, ...]:
    """Return the names of everything averaged over texts: the numbers, those of uniform rows, and the sinks by
    position."""
    known = numbers_of(kind)
    sinks = [f"{SINK}{position}" for position in POSITIONS]
    uniform = (number.name for number in known if number.group == "measure" or number.name in DETECTED)
    return (*(number.name for number in known), *(UNIFORM + name for name in uniform), *sinks,
            *(UNIFORM + sink for sink in sinks))


if TYPE_CHECKING:
    from pandas import DataFrame


DETECTOR = {pattern: name for name, (pattern, _) in DETECTED.items()}


@with_arrays
class MeasuredText:
    """Every number of every head in one text, with an example cell for each."""

    heads: tuple[HeadId, ...]   # in the order of the arrays
    numbers: np.ndarray         # float64 (rows_of(kind), head), NaN if undefined for the text
    cells: np.ndarray           # int32 (CELLS, head, 2): query and key, -1 if there is no such cell
    weights: np.ndarray         # float32 (CELLS, head): the cells' weights


class _LayerSums:
    """Accumulate sums and strongest cells of one layer, block by block."""

    def __init__(self, heads: int, n: tuple[int, int], info: KeyInfo, kind: Kind, allowed: Mask) -> None:
        self.n, self.info, self.allowed, self.every = n, info, allowed, np.arange(heads)
        self.square = kind.base is not Kind.CROSS
        self.patterns = [pattern for pattern in PATTERNS
                         if pattern.name in CELLS and (self.square or pattern.valid_for_cross)]
        self.total, self.confidence = np.zeros((2, heads))
        self.sums = {pattern.name: np.zeros(heads) for pattern in self.patterns if pattern.name in DETECTOR}
        self.counts = dict.fromkeys(self.sums, 0)
        self.sinks, self.lookers = np.zeros((len(POSITIONS), heads)), np.zeros(len(POSITIONS))
        self.best = np.full((len(CELLS), heads), -np.inf)
        self.cells = np.full((len(CELLS), heads, 2), -1, np.int32)
        self.weights = np.zeros((len(CELLS), heads), np.float32)

    def add(self, block: WeightBlock, with_cells: bool) -> None:
        """Add one block of weights. Cells are only taken from rows with at least two allowed keys."""
        rows, keys, weights = block
        allowed = allowed_cells(self.allowed, rows, keys)
        free = allowed & (allowed.sum(1) > 1)[:, None]
        i, j = grid(rows, keys)
        self.total += weights.sum((1, 2), dtype=np.float64)
        self.confidence += weights.max(2).sum(1, dtype=np.float64)
        for pattern in self.patterns:
            cells = pattern.keys(i, j, self.info) & allowed
            if pattern.name in self.sums:
                self.counts[pattern.name] += int(cells.sum())
                self.sums[pattern.name] += weights[:, cells].sum(1, dtype=np.float64)
            if with_cells:
                self._keep(pattern.name, cells & free, weights, block)
        for at, position in enumerate(POSITIONS):
            key = position if position >= 0 else self.n[1] + position
            if keys.start <= key < keys.stop:
                self.sinks[at] += weights[:, :, key - keys.start].sum(1, dtype=np.float64)
                self.lookers[at] += allowed[:, key - keys.start].sum()
        if with_cells:
            self._keep(SPECIAL, free & self.info.special[keys], weights, block)
            self._keep(LARGEST, free, weights, block)
            if self.square:
                self._keep(FARTHEST, free, weights * np.abs(i - j), block)
            entropy = np.where(free.any(1), -x_log_x(weights.astype(np.float64), base=2).sum(2), -np.inf)
            row = entropy.argmax(1)
            self._replace(WIDEST, entropy[self.every, row], row, weights[self.every, row].argmax(1), block)

    def _keep(self, name: str, cells: np.ndarray, strength: np.ndarray, block: WeightBlock) -> None:
        """Keep the strongest of these cells, by `strength` (head, row, key), for each head if it exceeds the current
        one; the first wins a tie."""
        if cells.any():
            row, key = np.argwhere(cells)[strength[:, cells].argmax(1)].T
            self._replace(name, strength[self.every, row, key], row, key, block)

    def _replace(self, name: str, strength: np.ndarray, row: np.ndarray, key: np.ndarray, block: WeightBlock) -> None:
        at, (rows, keys, weights) = CELLS.index(name), block
        better = strength > self.best[at]
        self.best[at, better] = strength[better]
        self.cells[at, better] = np.stack([rows.start + row, keys.start + key], 1)[better]
        self.weights[at, better] = weights[self.every, row, key][better]

    def rows(self, prefix: str = "") -> dict[str, np.ndarray]:
        """Return {prefix and name: (head)}: Σ w·P / Σ w of each detector, NaN if its pattern has no cell in the text,
        and the mean weight that the token at each position receives from queries that may attend to it, NaN beyond the
        text."""
        nothing = np.full(len(self.every), np.nan)
        found = {DETECTOR[name]: total / np.maximum(self.total, 1e-30) if self.counts[name] else nothing
                 for name, total in self.sums.items()}
        found |= {f"{SINK}{position}": row / count if count else nothing
                  for position, row, count in zip(POSITIONS, self.sinks, self.lookers, strict=True)}
        return {prefix + name: row for name, row in found.items()}


def _gathered(layer: Layer | Reported, blocks: Iterable[WeightBlock], info: KeyInfo, kind: Kind,
              cells: bool) -> _LayerSums:
    sums: _LayerSums | None = None
    for block in blocks:
        sums = sums or _LayerSums(len(block[2]), layer.shape[1:], info, kind, layer.allowed)
        sums.add(block, cells)
    assert sums is not None, "a text has at least one token"
    return sums


def measure_text(attention_map: AttentionMap) -> MeasuredText:
    """Compute every head's numbers and example cells in the text of this map."""
    kind, info = attention_map.kind, KeyInfo(np.array(attention_map.keys.special), np.array(attention_map.keys.ids))
    measured = heads.measure(attention_map)
    parts, cells, weights, even = [], [], [], dict[int, dict[str, np.ndarray]]()
    for layer in attention_map.layers:
        if id(layer.allowed) not in even:   # layers share masks
            even[id(layer.allowed)] = _gathered(layer, uniform_blocks(layer.allowed, layer.shape[1:]), info, kind,
                                                False).rows(UNIFORM)
        sums = _gathered(layer, heads.weight_blocks(layer), info, kind, True)
        own = {CONFIDENCE: sums.confidence / layer.shape[1]} | sums.rows() | even[id(layer.allowed)]
        parts.append({name: np.broadcast_to(row, layer.heads) for name, row in own.items()})
        cells.append(sums.cells)
        weights.append(sums.weights)
    rows = measured.values | {UNIFORM + name: row for name, row in measured.uniform.items()}
    rows |= {FIT + name: row for name, row in patterns.fit(attention_map).fits.items()} | heads.joined(parts)
    nothing = np.full(len(measured.heads), np.nan)
    return MeasuredText(heads.head_ids(attention_map), np.array([rows.get(name, nothing) for name in rows_of(kind)]),
                        np.concatenate(cells, 1), np.concatenate(weights, 1))


def standardised(table: "DataFrame") -> "DataFrame":
    """Standardise a table (head, measure) to mean 0 and standard deviation 1 over the heads. Drops measures that are
    constant or missing for some heads."""
    complete = table.dropna(axis="columns")
    varied = complete.loc[:, complete.std(ddof=0) > 1e-9 * complete.abs().max().clip(lower=1e-300)]
    return (varied - varied.mean()) / varied.std(ddof=0)


def principal_components(table: "DataFrame") -> tuple[np.ndarray, np.ndarray]:
    """Compute the first two principal components of the standardised measures (Pearson 1901). Return each head's
    coordinates, float64 (head, 2), and the shares of variance explained, float64 (2). The largest loading of each
    component is positive. All values are 0 if all heads are equal."""
    values = standardised(table).to_numpy(np.float64)
    if not values.size:
        return np.zeros((len(table), 2)), np.zeros(2)
    left, sizes, right = np.linalg.svd(values, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(1)])
    short = max(0, 2 - len(sizes))   # missing components
    return (np.pad(left * sizes * signs, ((0, 0), (0, short)))[:, :2],
            np.pad(sizes**2 / (sizes**2).sum(), (0, short))[:2])


def neighbours(table: "DataFrame", head: HeadId, count: int) -> list[tuple[HeadId, float]]:
    """Return the heads most similar to `head`, nearest first, with their distances: the root mean square difference of
    the standardised measures."""
    values = standardised(table)
    if not values.shape[1]:
        return []
    distance = np.sqrt(((values - values.loc[head])**2).mean(axis=1)).drop(head)
    return [((int(layer), int(number)), float(far)) for (layer, number), far in
            distance.sort_values(kind="stable").head(count).items()]
