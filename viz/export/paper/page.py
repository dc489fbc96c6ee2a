"""Lay out static pictures. A plan contains a picture's size and notes and paints it once its position is known; the
page adds title, reading instructions, colour bar, notes and provenance."""
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.query import frozen
from clearhead.viz.export.paper import sheet as letters
from clearhead.viz.export.paper.sheet import MARGIN, Dashes, Sheet
from clearhead.viz.style import theme
from clearhead.viz.style.text import show_invisibles, strings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = strings("export")
BARE, WIDE = 190, 1600   # points: smallest width of a picture; largest width of a row of pictures
NARROW = 300     # points: smallest width of a page, so that a caption has a few words per line
BAR = (120, 7)   # width and height of the colour bar in points
VECTOR = 128     # up to this many tokens per side, vector files use shapes instead of an image
SAMPLE = 26      # points: length of a head's line in the legend
TITLES = WORDS["looks"], WORDS["looked_at"]   # of the axes: of the queries and of the keys


@frozen
class Paper:
    """How a picture is drawn on paper."""

    raster: bool = False      # as pixels, for PNG
    handout: bool = False     # as shapes only, however long the text is, and without the notes of its caption
    step: float = math.inf    # most points per token, patch or cell of a thumbnail
    wide: float = math.inf    # largest width in points of a head's labels, lines and running text
    titles: tuple[str, str] = TITLES   # of a head's axes, for the queries and the keys
    per: int = 0              # how a grid's heads are arranged, see `grid.ways`; 0: as on A4


LARGEST = 60.0             # points per cell at most
LEAST, TINIEST = 0.5, 0.01   # points per cell at least: on a page that is high enough, and on one that is not


@frozen
class PicturePlan:
    """A picture whose position is not known yet."""

    width: float                                   # points
    height: float                                  # points
    orientation: str                               # how to read it
    notes: tuple[str, ...]                         # notes for the reader
    paint: Callable[[Sheet, float, float], None]   # paint(sheet, x, y) draws it with its top left corner at (x, y)
    bar: np.ndarray | None  # the colour bar, RGB uint8 (step, 3); None if thickness shows the weights
    ticks: Sequence[tuple[float, str]]             # (position on the bar, label)
    bar_name: str                                  # the quantity on the bar
    pair: tuple[str, ...] = ()                     # the pair and its weight, as separate strings
    legend: tuple[tuple[str, str, Dashes], ...] = ()   # (text, colour, dashes) per head
    signed: bool = False                           # whether the bar starts below 0, with that half struck through
    whole_width: bool = False                      # whether no other picture can be beside it

    @property
    def across(self) -> float:
        """Width of the picture and its colour bar in points."""
        return max(self.width, BARE, BAR[0] + 10 + letters.width(self.bar_name, 7.5, mono=False))


def weight_name(scale: str, what: str = WORDS["weight"]) -> str:
    """Return the name of a colour bar for weights. what: the quantity, if not a weight."""
    return f"{what}, {WORDS['scales'][scale]}"


def whole_page(plans: Sequence[PicturePlan], titles: Sequence[str], heading: str, lead: Sequence[str],
               caption: Sequence[str]) -> "Figure":
    """Lay out pictures with heading, lead and reading instructions above them, a colour bar below each, and notes and
    caption at the end. Several are side by side if they fit within WIDE, otherwise below one another. titles: "" for a
    picture without a title of its own. heading: "" for a page that has its own."""
    sheet, wide, y = Sheet(), sum(plan.across + 2 * MARGIN for plan in plans) - 2 * MARGIN, 0.0
    across = wide + 2 * MARGIN <= WIDE
    inner = max(NARROW, wide if across else max(plan.across for plan in plans))
    if heading:
        sheet.text(MARGIN, MARGIN + 11, heading, size=13, face="bold")
        y = MARGIN + 17.0
    y = _prose(sheet, y, [*map(show_invisibles, lead), plans[0].orientation], 8, inner)
    if plans[0].pair:
        x, y = float(MARGIN), y + 11
        for part in plans[0].pair:
            sheet.text(x, y, part, size=8, colour=theme.ACCENT, face="mono")
            x += letters.width(part + " ", 8)
    x, top, lowest = float(MARGIN), y + 12, max(plan.height for plan in plans)
    for plan, title in zip(plans, titles, strict=True):
        sheet.text(x, top + 8, title, size=10, face="bold")
        under = top + 18 * bool(title) + (lowest if across else plan.height)
        plan.paint(sheet, x, under - plan.height)
        y = bar_at(sheet, plan, (x, under + 18))
        x, top = (x + plan.across + 2 * MARGIN, top) if across else (x, y + 20)
    caption, notes = list(map(show_invisibles, caption)), [note for plan in plans for note in plan.notes]
    if any(letters.CODE_POINT.search(letters.readable(line, mono=False)) for line in caption[:1]):
        notes.append(WORDS["code_points"])
    y = _prose(sheet, y + 6, [note.rstrip(".") + "." for note in dict.fromkeys(notes)], 7.5, inner)
    y = _prose(sheet, y + 4, caption, 6.5, inner)
    return sheet.close(inner + 2 * MARGIN, y + MARGIN - 6)


def _prose(sheet: Sheet, y: float, paragraphs: Sequence[str], size: float, inner: float) -> float:
    """Draw paragraphs from y downwards; return the next free y."""
    for paragraph in paragraphs:
        for line in letters.wrap(letters.readable(paragraph, mono=False), size, inner):
            y += size * 1.4
            sheet.text(MARGIN, y, line, size=size, colour=theme.QUIET)
    return y


def roomiest(plan: Callable[[int, float], PicturePlan], ways: Iterable[int], room: Callable[[int], tuple[float, float]],
             enough: float = math.inf) -> tuple[int, float]:
    """Return (the way to arrange a picture that leaves its cells most room, points per cell). plan(way, step) plans the
    picture with at most `step` points per cell, room(way) is the width and height for it in points. Cells of `enough`
    points need not grow; of several such ways, the last is chosen. A picture that is too high with any cells keeps the
    width alone."""
    def largest(way: int) -> float:
        wide, high = room(way)

        def fits(step: float) -> bool:
            made = plan(way, step)
            return made.width <= wide and made.height <= high

        low, most = LEAST, LARGEST
        if not fits(low):
            low, most, high = TINIEST, LEAST, math.inf
        while most - low > 1e-3 * most:
            middle = (low + most) / 2
            low, most = (middle, most) if fits(middle) else (low, middle)
        return low

    sizes = {way: largest(way) for way in ways}
    way = max(sizes, key=lambda each: (min(sizes[each], enough), each))
    return way, sizes[way]


def line_style(force: np.ndarray, colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return RGBA (line, 4) and widths in points (line); stronger lines are thicker and darker. force: strengths from 0
    to 1, (line). colours: RGB from 0 to 255, (line, 3)."""
    alpha = np.round(64 * (0.06 + 0.9 * force)) / 64   # few distinct values keep PDFs small
    return np.column_stack([np.broadcast_to(colours, (len(force), 3)) / 255, alpha]), 0.4 + 2.8 * force


def bar_at(sheet: Sheet, plan: PicturePlan, corner: tuple[float, float], room: float = math.inf) -> float:
    """Draw the colour bar (or the scale of line thickness) and the legend, `room` points wide at most; return the next
    free y."""
    (width, height), (x, y) = (min(BAR[0], room), BAR[1]), corner
    if plan.bar is None:
        places = np.linspace(x, x + width, 61)
        colours, widths = line_style(np.linspace(0, 1, 60), np.array(theme.rgb(theme.HEADS[0])))
        ends = np.stack([places[:-1], places[1:]], -1)
        sheet.strokes(np.stack([ends, np.full(ends.shape, y + height / 2)], -1), colours, widths)
    else:
        sheet.image(x, y, width, height, plan.bar[np.newaxis])
        if plan.signed:   # strike through the negative half, like negative cells
            lefts = x + np.arange(0, width / 2 - 6, 6)
            sheet.strike(np.stack([lefts, np.full_like(lefts, y), lefts + height, np.full_like(lefts, y + height)], -1),
                         ("#ffffff", 0.9), 0.7)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)
    for share, tick in plan.ticks:
        at = x + width * share
        sheet.box(at, y + height, 0, 2, edge=theme.QUIET, line=0.5)
        sheet.text(at, y + height + 9, tick, size=6.5, colour=theme.QUIET, align="center" if at > x else "left")
    fits = width + 10 + letters.width(plan.bar_name, 7.5, mono=False) <= room
    if fits:
        sheet.text(x + width + 10, y + height - 0.5, plan.bar_name, size=7.5, colour=theme.QUIET)
    y += height + 12
    for line in [] if fits else letters.wrap(plan.bar_name, 7.5, room):
        y += 10
        sheet.text(x, y, line, size=7.5, colour=theme.QUIET)
    left, y = x, y + 3 * (not fits)
    for name, colour, dashes in plan.legend:
        wide = SAMPLE + 3 + letters.width(name, 8)
        if x > left and x + wide > left + room:
            x, y = left, y + 12
        sheet.strokes(np.array([[[x, y + 7.75], [x + SAMPLE, y + 7.75]]]), colour, 2, dashes)
        sheet.text(x + SAMPLE + 3, y + 10.5, name, size=8, face="mono")
        x += wide + 12
    return y + 12 if plan.legend else y
