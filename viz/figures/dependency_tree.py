"""A sentence with its tree above and a head's choices below: arcs between words, right ones solid, wrong dashed."""
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from viz.figures.base import FADED, LETTER, MUTED, chart, series_colours, text_width
from viz.figures.drawing import FigureSpec
from viz.theme import INK

WORD, LIFT, STEP = 15, 26, 22    # pixels: letters of the words, the lowest arc above them, one arc above another
BETWEEN, EDGE, BESIDE = 18, 26, 5   # pixels between words, at both ends, and between arcs that end at one word
POINTS = 17                      # of an arc
RIGHT, WRONG = 2, 1              # places in theme.HEADS
ROOT = -1


@dataclass(frozen=True)
class Look:
    """One choice of a head."""

    word: int            # that looks, from 0
    looked: int | None   # at most; None where it may look at no word
    right: bool          # whether the tree says so
    said: str            # what one reads when pointing at it


@dataclass(frozen=True)
class _Arc:
    start: int
    end: int
    label: str
    said: str
    colour: str
    bold: bool
    dash: str = "solid"


def sentence_width(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> int:
    """Pixels that the drawing needs from side to side."""
    return math.ceil(_middles(words, heads, relations)[1])


def dependency_tree(theme: str, words: Sequence[str], heads: Sequence[int], relations: Sequence[str],
                    asked: str, looks: Sequence[Look]) -> FigureSpec:
    """The drawing. heads: the place of the word that each depends on, ROOT for a root; relations: their names; `asked`
    is the one that is tested, and stands out in the tree."""
    middles, width = _middles(words, heads, relations)
    colours, faded = series_colours(theme), FADED[theme]
    tree = [_Arc(head, word, relation, f"{relation}: {words[word]} ← {words[head]}",
                 colours[0] if relation == asked else faded, relation == asked)
            for word, (head, relation) in enumerate(zip(heads, relations, strict=True)) if head != ROOT]
    below = [_Arc(look.word, look.looked, "✓" if look.right else "✗", look.said,
                  colours[RIGHT if look.right else WRONG], True, "solid" if look.right else "dash")
             for look in looks if look.looked is not None]
    heights = [LIFT + STEP * level for level in _levels(tree)]
    depths = [LIFT + STEP * level for level in _levels(below)]
    top, bottom = max(heights, default=LIFT) + 2 * WORD, max(depths, default=LIFT) + 2 * WORD
    figure = chart(theme, height=math.ceil(top + bottom))
    for side, arcs, sizes in ((1, tree, heights), (-1, below, depths)):
        for number, (arc, size) in enumerate(zip(arcs, sizes, strict=True)):
            _draw(figure, theme, arc, _ends(arcs, number, middles), side * WORD * 0.8, side * size)
    _words(figure, theme, words, heads, middles, top)
    for look in looks:
        if look.looked is None:
            _letters(figure, [middles[look.word]], [-WORD * 1.6], ["✗"], [look.said], colours[WRONG], "nothing")
    figure.update_xaxes(visible=False, range=[0, width], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-bottom, top], fixedrange=True)
    figure.update_layout(showlegend=False, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    return figure


def _middles(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> tuple[list[float], float]:
    """Where each word's middle stands, in pixels, and how wide all is: neighbours that depend on one another have room
    for the relation's name between them."""
    sizes = [text_width(word) * WORD / LETTER for word in words]
    middles = [EDGE + sizes[0] / 2]
    for left, right in pairwise(range(len(words))):
        apart = (sizes[left] + sizes[right]) / 2 + BETWEEN
        for one, other in ((left, right), (right, left)):
            if heads[one] == other:
                apart = max(apart, text_width(relations[one]) + 2 * BESIDE)
        middles.append(middles[-1] + apart)
    return middles, middles[-1] + sizes[-1] / 2 + EDGE


def _levels(arcs: Sequence[_Arc]) -> list[int]:
    """How high each arc is: above every other that lies inside it or crosses it and is shorter."""
    spans = [(min(arc.start, arc.end), max(arc.start, arc.end)) for arc in arcs]
    levels = [0] * len(arcs)
    order = sorted(range(len(arcs)), key=lambda arc: spans[arc][1] - spans[arc][0])
    for place, arc in enumerate(order):
        under = [levels[other] for other in order[:place]
                 if spans[other][0] < spans[arc][1] and spans[arc][0] < spans[other][1]]
        levels[arc] = max(under, default=-1) + 1
    return levels


def _ends(arcs: Sequence[_Arc], number: int, middles: Sequence[float]) -> tuple[float, float]:
    """Where an arc begins and ends, in pixels: a little towards the other end, so that those of one word stand beside
    one another."""
    arc = arcs[number]
    way = BESIDE if arc.end > arc.start else -BESIDE
    return middles[arc.start] + way, middles[arc.end] - way


def _draw(figure: FigureSpec, theme: str, arc: _Arc, ends: tuple[float, float], foot: float, height: float) -> None:
    """An arc, its arrow at the end, its label on its top."""
    steps = [math.pi * point / (POINTS - 1) for point in range(POINTS)]
    middle, reach = (ends[0] + ends[1]) / 2, (ends[0] - ends[1]) / 2
    x = [middle + reach * math.copysign(abs(math.cos(step)) ** 0.5, math.cos(step)) for step in steps]
    y = [foot + (height - foot) * math.sin(step) ** 0.5 if math.sin(step) > 0 else foot for step in steps]
    y[-1] = foot
    figure.add_scatter(x=x, y=y, mode="lines", hoverinfo="skip", name=arc.said,
                       line={"color": arc.colour, "width": 2 if arc.bold else 1, "dash": arc.dash})
    figure.add_scatter(x=[ends[1]], y=[foot + math.copysign(3, height)], mode="markers", hoverinfo="skip", name="end",
                       marker={"symbol": "triangle-down" if height > 0 else "triangle-up", "size": 8,
                               "color": arc.colour})
    ink = (INK if arc.bold else MUTED)[theme] if height > 0 else arc.colour
    _letters(figure, [middle], [height + math.copysign(LETTER * 0.6, height)], [arc.label], [arc.said], ink, arc.said)


def _letters(figure: FigureSpec, x: Sequence[float], y: Sequence[float], texts: Sequence[str], said: Sequence[str],
             ink: str, name: str, size: float = LETTER) -> None:
    figure.add_scatter(x=list(x), y=list(y), mode="text", text=list(texts), customdata=list(said), name=name,
                       textfont={"size": size, "color": ink}, hovertemplate="%{customdata}<extra></extra>")


def _words(figure: FigureSpec, theme: str, words: Sequence[str], heads: Sequence[int], middles: Sequence[float],
           top: float) -> None:
    """The words in a row, and a line down to each root."""
    for word, head in enumerate(heads):
        if head == ROOT:
            figure.add_scatter(x=[middles[word]] * 2, y=[top, WORD * 0.8], mode="lines", hoverinfo="skip", name="root",
                               line={"color": FADED[theme], "width": 1})
    _letters(figure, middles, [0] * len(words), words, words, INK[theme], "words", WORD)
