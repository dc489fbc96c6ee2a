"""What the pictures share: a plan says how large a picture will be and what must be said of it, and paints it once its
place is known."""
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core.view import AxisItem, DisplayedHead, View
from viz import theme
from viz.print import fonts
from viz.print.sheet import Dashes, Sheet
from viz.text import strings

WORDS = strings("export")
MOST = 1024   # cells a side of a picture; the cells of a longer text stand for several tokens
MIDDLE = 0.36  # of a font's size: from the baseline to the middle of its small letters
# share of the bound from which on what is below 0 is struck through, so that signs differ without colour too
STRUCK = 0.08
GAP = 4       # points between a label and what it names


@dataclass(frozen=True)
class PicturePlan:
    """How a picture will look, before its place is known."""

    width: float                                   # points
    height: float                                  # points
    orientation: str                               # how to read it
    notes: tuple[str, ...]                         # what a reader must know
    scale: str                                     # of the bar
    paint: Callable[[Sheet, float, float], None]   # paint(sheet, x, y) draws it with its top left corner there
    bar: np.ndarray | None                         # RGB uint8 (step, 3) from weight 0 to 1; None: weights are thickness
    pair: tuple[str, ...] = ()                     # the pair and its weight in words, in parts
    legend: tuple[tuple[str, str, Dashes], ...] = ()   # (text, colour, dashes) of each head
    bound: float | None = None                     # the bar runs from −bound to bound
    ticks: tuple[tuple[float, str], ...] = ()      # (place on the bar, words), where they are not the scale's
    bar_name: str = ""                             # what the bar is of, where it is no weight on a scale
    signed: bool = False                           # whether the bar runs from below 0, whose half is struck through


@dataclass(frozen=True)
class Labels:
    """The labels of one axis, thinned where they would overlap."""

    texts: dict[int, str]     # {place: label}
    size: float               # points, of the letters
    marked: frozenset[int]    # places in the accent colour
    quiet: frozenset[int]     # places of special tokens, in grey
    unknown: frozenset[int]   # places of tokens that the vocabulary lacks
    notes: tuple[str, ...]    # what a reader must know of them

    @property
    def width(self) -> float:
        """Points of the widest label."""
        return fonts.widest(list(self.texts.values()), self.size)

    def colour(self, place: int) -> str:
        """The colour of the label at a place."""
        if place in self.marked:
            return theme.ACCENT
        return theme.QUIET if place in self.quiet else theme.INK["light"]


def pitch(count: int) -> float:
    """Points from one token to the next: whole ones, so that cells have whole pixels at any zoom; beyond MOST tokens
    1/2, 1/3 …"""
    if count > MOST:
        return 1 / math.ceil(count / MOST)
    return max(8, min(22, 480 // count)) if count <= 90 else max(1, 720 // count)


def labels(units: tuple[AxisItem, ...], step: float, marked: tuple[int | None, ...] = ()) -> Labels:
    """The labels of tokens that stand `step` points apart."""
    size = min(10.0, max(6.5, 0.62 * step))
    every = math.ceil((size + 1.5) / step) if step < size + 1 else 1
    accented = frozenset(place for place in marked if place is not None)
    places = [place for place in range(len(units))
              if place in accented or (place % every == 0 and all(abs(place - other) >= every for other in accented))]
    texts = {place: fonts.label(units[place].text) for place in places}
    notes = [WORDS["thinned"].format(count=len(units), step=_ordinal(every))] if every > 1 else []
    if any(fonts.CODE_POINT.search(text) for text in texts.values()):
        notes.append(WORDS["code_points"])
    if any(len(text) == fonts.LONGEST and text.endswith("…") for text in texts.values()):
        notes.append(WORDS["cut"].format(size=fonts.LONGEST))
    return Labels(texts, size, accented, frozenset(place for place in places if units[place].special),
                  frozenset(place for place in places if units[place].unknown), tuple(notes))


def pair_cell(shown: DisplayedHead, view: View) -> tuple[int, int] | None:
    """The row and the column of the view's pair, if both are shown."""
    row, column = (shown.row_of(view.pair[0]), shown.column_of(view.pair[1])) if view.pair else (None, None)
    return None if row is None or column is None else (row, column)


def pair_words(shown: DisplayedHead, view: View) -> tuple[str, ...]:
    """The pair and its weight, in parts, so that right-to-left tokens cannot turn the arrow round; nothing if it is not
    shown."""
    place = pair_cell(shown, view)
    if place is None:
        return ()
    a, b = shown.rows[place[0]], shown.columns[place[1]]
    return fonts.label(a.text), "→", fonts.label(b.text), f"{shown.weights[place]:z.3f}"


def draw_label(sheet: Sheet, x: float, y: float, place: int, names: Labels, **how: Any) -> None:
    """Draws one token's label; [UNK] and its like are marked loudly."""
    fill = theme.UNKNOWN if place in names.unknown else None
    sheet.text(x, y, names.texts[place], size=names.size, colour=names.colour(place), face="mono", fill=fill, **how)


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def sum_words(shown: DisplayedHead, words: dict[str, str]) -> str:
    """Say what the rows sum to after every filter, in two decimals."""
    sums = np.nansum(shown.weights, 1)
    return words["one"] if np.abs(sums - 1).max() < 0.005 else words["other"].format(low=sums.min(), high=sums.max())

