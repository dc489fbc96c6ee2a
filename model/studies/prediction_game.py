"""Score a user's prediction of a head: the weight on the marked cells, compared with the best and with a random choice
of the same number of cells. Only needs numpy."""
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.query import frozen
from clearhead.model.core.record import Layer, Reported
from clearhead.model.core.view import DisplayedHead


@frozen
class RowScore:
    """The score of one row of a prediction."""

    row: int       # index of the row in the displayed head
    count: int     # number of marked cells
    allowed: int   # number of allowed cells
    found: float   # the head's weight on the marked cells
    best: float    # the head's weight on its `count` largest cells
    whole: float   # the head's weight on all displayed cells that the mask allows; 1 without filters

    @property
    def uniform(self) -> float:
        """The expected weight on `count` random allowed cells."""
        return self.whole * self.count / self.allowed


@frozen
class Score:
    """The score of a prediction, by row and on average."""

    rows: tuple[RowScore, ...]

    def mean(self, name: str) -> float:
        """Return the mean of "found", "best" or "uniform" over the rows."""
        return float(np.mean([getattr(row, name) for row in self.rows]))

    @property
    def count(self) -> int:
        """Number of marked cells in all rows."""
        return sum(row.count for row in self.rows)

    @property
    def above_chance(self) -> float:
        """The score, rescaled such that a random choice is 0 and the best 1; NaN if these are equal, for example if all
        cells are marked."""
        room = self.mean("best") - self.mean("uniform")
        return (self.mean("found") - self.mean("uniform")) / room if room > 1e-9 else float("nan")


def allowed_cells(layer: Layer | Reported, shown: DisplayedHead) -> np.ndarray:
    """Return which cells of a displayed head the mask allows, bool (row, column). A cell of words is allowed if the
    mask allows any pair of their tokens."""
    mask = heads.allowed_cells(layer.allowed, slice(0, layer.shape[1]), slice(0, layer.shape[2]), shown.head)
    # whether a token belongs to a row or column, float32 (row or column, token)
    rows, columns = (np.array([np.isin(np.arange(size), unit.tokens) for unit in side], np.float32)
                     for side, size in zip((shown.rows, shown.columns), layer.shape[1:], strict=True))
    return rows @ mask.astype(np.float32) @ columns.T > 0


def cover(shown: DisplayedHead, may: np.ndarray) -> DisplayedHead:
    """Hide a head's values: set all weights and allowed scores to 0, and all other scores to NaN."""
    return replace(shown, weights=np.zeros_like(shown.weights), scores=np.where(may, np.float32(0), np.float32("nan")))


def score(shown: DisplayedHead, may: np.ndarray, marks: Iterable[tuple[int, int]]) -> Score:
    """Score marked cells (query token, key token). Cells that are not displayed or not allowed are ignored.

    may: which cells are allowed, bool (row, column), from `allowed_cells`.
    """
    chosen = np.zeros(may.shape, bool)
    for cell in filter(None, map(shown.cell_of, marks)):
        chosen[cell] = may[cell]
    rows = []
    for at in np.flatnonzero(chosen.any(1)).tolist():
        weights, count = shown.weights[at].astype(np.float64), int(chosen[at].sum())
        open_ = np.sort(weights[may[at]])
        rows.append(RowScore(at, count, len(open_), float(weights[chosen[at]].sum()), float(open_[-count:].sum()),
                             float(open_.sum())))
    return Score(tuple(rows))
