"""Label the axes of a head on paper, and describe its sums and its pair in words, the same in all lenses."""
import math

import numpy as np

from clearhead.model.core.query import frozen
from clearhead.model.core.view import AxisItem, DisplayedHead, View
from clearhead.viz.export.paper import sheet as letters
from clearhead.viz.export.paper.page import WORDS
from clearhead.viz.export.paper.sheet import Sheet
from clearhead.viz.style import theme
from clearhead.viz.style.text import Texts

MIDDLE = 0.36     # distance from the baseline to the middle of lower-case letters, as a share of the font size
GAP = 4           # points between a label and its row
TICK, FEWEST_TICKS = 3, 2       # points: length of a tick, and the smallest distance of two
SHARE = 0.4       # largest share of the picture's width for labels


@frozen
class Labels:
    """The labels of an axis, thinned out if they would overlap."""

    texts: dict[int, str]          # {position: label}
    size: float                    # font size in points
    step: float                    # points per token
    marked: frozenset[int]         # positions in the accent colour
    units: tuple[AxisItem, ...]    # the labelled rows or columns
    notes: tuple[str, ...]         # notes for the reader

    @property
    def width(self) -> float:
        """Width of the widest label in points."""
        return max((letters.width(text, self.size) for text in self.texts.values()), default=0.0)

    def draw(self, sheet: Sheet, x: float, y: float, side: str) -> None:
        """Draw the labels on a side of an axis that begins at (x, y): "left" or "right" of one that runs down, "above"
        one that runs across. Special tokens are grey, unknown ones highlighted. If labels are left out, every token has
        a tick, long at labels."""
        out = -1 if side == "left" else 1
        for place, text in self.texts.items():
            unit, middle = self.units[place], (place + 0.5) * self.step + self.size * MIDDLE
            colour = theme.ACCENT if place in self.marked else theme.QUIET if unit.special else theme.INK
            across, down = (middle, -GAP) if side == "above" else (out * GAP, middle)
            sheet.text(x + across, y + down, text, size=self.size, colour=colour, face="mono",
                       fill=theme.UNKNOWN if unit.unknown else None, align="right" if side == "left" else "left",
                       angle=90 if side == "above" else 0)
        if len(self.texts) == len(self.units):
            return
        some = np.array(range(len(self.units)) if self.step >= FEWEST_TICKS else [*self.texts])
        at, long = (some + 0.5) * self.step, np.where(np.isin(some, [*self.texts]), TICK, TICK / 2)
        from_axis = np.stack([np.zeros_like(at), out * long], -1)
        along = np.stack([at, at], -1)
        ends = np.stack([x + along, y - from_axis] if side == "above" else [x + from_axis, y + along], -1)
        sheet.strokes(ends, theme.QUIET, 0.4)


def labels(units: tuple[AxisItem, ...], step: float, marked: tuple[int | None, ...] = (),
           wide: float = math.inf) -> Labels:
    """Return the labels of tokens `step` points apart, cut to a share of a picture's width in points."""
    size = min(10.0, max(6.5, 0.62 * step))
    every = math.ceil((size + 1.5) / step) if step < size + 1 else 1
    accented = frozenset(place for place in marked if place is not None)
    longest = int(min(letters.LONGEST, max(3, SHARE * wide / letters.width("m", size))))
    texts = {place: letters.label(unit.text, longest) for place, unit in enumerate(units)
             if place in accented or (place % every == 0 and all(abs(place - other) >= every for other in accented))}
    notes = [WORDS("thinned", count=len(units), step=_ordinal(every))] if every > 1 else []
    if any(letters.CODE_POINT.search(text) for text in texts.values()):
        notes.append(WORDS["code_points"])
    if any(len(text) == longest and text.endswith("…") for text in texts.values()):
        notes.append(WORDS("cut", size=longest))
    return Labels(texts, size, step, accented, units, tuple(notes))


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def sum_words(shown: DisplayedHead, words: Texts) -> str:
    """Describe the sums of the rows after all filters, to two decimals."""
    sums = np.nansum(shown.weights, 1)
    return words["one"] if np.abs(sums - 1).max() < 0.005 else words("other", low=sums.min(), high=sums.max())


def pair_words(shown: DisplayedHead, view: View) -> tuple[str, ...]:
    """Return the pair and its weight as separate strings, so that right-to-left tokens cannot reverse the arrow; empty
    if the pair is not displayed."""
    cell = shown.cell_of(view.pair) if view.pair else None
    if cell is None:
        return ()
    a, b = shown.rows[cell[0]], shown.columns[cell[1]]
    return letters.label(a.text), "→", letters.label(b.text), f"{shown.weights[cell]:z.3f}"
