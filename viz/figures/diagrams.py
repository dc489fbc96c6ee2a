"""Draw a dependency tree, a tree of next words, and paths through layers."""
import math
from collections.abc import Sequence
from itertools import pairwise

from clearhead.model.core.query import frozen
from clearhead.viz.figures.base import LETTER, chart, text_width
from clearhead.viz.figures.drawing import FigureSpec, Markup, plain
from clearhead.viz.style.theme import ACCENT, FADED, INK, QUIET, SERIES

WORD, LIFT, STEP = 15, 26, 22    # pixels: word size, height of the lowest arc, distance between arcs
BETWEEN, EDGE, BESIDE = 16, 12, 5   # pixels between words, at both ends, and between arcs at the same word
POINTS = 17                      # points per arc
RIGHT, WRONG = 2, 1              # indices in theme.HEADS
ROOT = -1


@frozen
class Look:
    """The word that a head attends to most from a given word."""

    word: int            # index of the source word
    looked: int | None   # index of the word with the largest weight; None if fully masked
    right: bool          # whether the tree agrees
    said: str            # tooltip


@frozen
class _Arc:
    start: int
    end: int
    label: str
    said: str
    colour: str
    bold: bool
    dash: str = "solid"


def sentence_width(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> int:
    """Return the width of the drawing in pixels."""
    return math.ceil(_middles(words, heads, relations)[1])


def dependency_tree(words: Sequence[str], heads: Sequence[int], relations: Sequence[str],
                    asked: str, looks: Sequence[Look]) -> FigureSpec:
    """Draw the tree above the words, and a head's choices below them. heads: index of the word that each word depends
    on, or ROOT. relations: name of each word's relation. asked: the tested relation, which is highlighted."""
    middles, width = _middles(words, heads, relations)
    tree = [_Arc(head, word, relation, f"{relation}: {words[word]} ← {words[head]}",
                 SERIES[0] if relation == asked else FADED, relation == asked)
            for word, (head, relation) in enumerate(zip(heads, relations, strict=True)) if head != ROOT]
    below = [_Arc(look.word, look.looked, "✓" if look.right else "✗", look.said,
                  SERIES[RIGHT if look.right else WRONG], True, "solid" if look.right else "dash")
             for look in looks if look.looked is not None]
    heights = [LIFT + STEP * level for level in _levels(tree)]
    depths = [LIFT + STEP * level for level in _levels(below)]
    top, bottom = max(heights, default=LIFT) + 2 * WORD, max(depths, default=LIFT) + 2 * WORD
    figure = chart(height=math.ceil(top + bottom))
    for side, arcs, sizes in ((1, tree, heights), (-1, below, depths)):
        for number, (arc, size) in enumerate(zip(arcs, sizes, strict=True)):
            _draw(figure, arc, _ends(arcs, number, middles), side * WORD * 0.8, side * size)
    _words(figure, words, heads, middles, top)
    for look in looks:
        if look.looked is None:
            _letters(figure, [middles[look.word]], [-WORD * 1.6], ["✗"], [look.said], SERIES[WRONG], "nothing")
    figure.update_xaxes(visible=False, range=[0, width], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-bottom, top], fixedrange=True)
    figure.update_layout(showlegend=False, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    return figure


def _middles(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> tuple[list[float], float]:
    """Return each word's centre and the total width, in pixels. Between neighbours that depend on each other there is
    room for the relation's name."""
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
    """Return each arc's level, which is above all arcs inside it and above shorter arcs that it crosses."""
    spans = [(min(arc.start, arc.end), max(arc.start, arc.end)) for arc in arcs]
    levels = [0] * len(arcs)
    order = sorted(range(len(arcs)), key=lambda arc: spans[arc][1] - spans[arc][0])
    for place, arc in enumerate(order):
        under = [levels[other] for other in order[:place]
                 if spans[other][0] < spans[arc][1] and spans[arc][0] < spans[other][1]]
        levels[arc] = max(under, default=-1) + 1
    return levels


def _ends(arcs: Sequence[_Arc], number: int, middles: Sequence[float]) -> tuple[float, float]:
    """Return an arc's start and end in pixels, each shifted towards the other so that arcs at the same word are side by
    side."""
    arc = arcs[number]
    way = BESIDE if arc.end > arc.start else -BESIDE
    return middles[arc.start] + way, middles[arc.end] - way


def _draw(figure: FigureSpec, arc: _Arc, ends: tuple[float, float], foot: float, height: float) -> None:
    """Draw an arc with an arrowhead at its end and a label on top."""
    steps = [math.pi * point / (POINTS - 1) for point in range(POINTS)]
    middle, reach = (ends[0] + ends[1]) / 2, (ends[0] - ends[1]) / 2
    x = [middle + reach * math.copysign(abs(math.cos(step)) ** 0.5, math.cos(step)) for step in steps]
    y = [foot + (height - foot) * math.sin(step) ** 0.5 if math.sin(step) > 0 else foot for step in steps]
    y[-1] = foot
    figure.add_line(x, y, arc.colour, 2 if arc.bold else 1, arc.dash, name=arc.said)
    figure.add_scatter(x=[ends[1]], y=[foot + math.copysign(3, height)], mode="markers", hoverinfo="skip", name="end",
                       marker={"symbol": "triangle-down" if height > 0 else "triangle-up", "size": 8,
                               "color": arc.colour})
    ink = (INK if arc.bold else QUIET) if height > 0 else arc.colour
    _letters(figure, [middle], [height + math.copysign(LETTER * 0.6, height)], [arc.label], [arc.said], ink, arc.said)


def _letters(figure: FigureSpec, x: Sequence[float], y: Sequence[float], texts: Sequence[str], said: Sequence[str],
             ink: str, name: str, size: float = LETTER) -> None:
    figure.add_scatter(x=list(x), y=list(y), mode="text", text=list(texts), customdata=list(said), name=name,
                       textfont={"size": size, "color": ink}, hovertemplate="%{customdata}<extra></extra>")


def _words(figure: FigureSpec, words: Sequence[str], heads: Sequence[int], middles: Sequence[float],
           top: float) -> None:
    """Draw the words in a row, and a vertical line to each root."""
    for word, head in enumerate(heads):
        if head == ROOT:
            figure.add_line([middles[word]] * 2, [top, WORD * 0.8], FADED, 1, name="root")
    _letters(figure, middles, [0] * len(words), words, words, INK, "words", WORD)


# pixels: per leaf, margin, smallest height; room after the last word, in levels of depth
LEAF, ABOVE, LEAST, BEYOND_LAST = 27, 30, 300, 0.85
SHELF, RAISED = 0.6, 0.12          # length of the line below a word, in depths; height of the word above it, in rows


@frozen
class Branch:
    """A word of the tree."""

    path: tuple[int, ...]   # identifies the branch: the parent's path plus one number
    word: str
    given: str              # its probability as text
    kept: float             # 0 if cut off; otherwise the share of generated texts that take this branch
    said: str               # tooltip


def word_tree(root: str, branches: Sequence[Branch]) -> FigureSpec:
    """Draw the tree. branches: each after its parent; children keep this order."""
    places = _tree_places([branch.path for branch in branches])
    leaves = 1 + max(-y for _, y in places.values())
    deepest = max(x for x, _ in places.values())
    parents = {branch.path[:-1] for branch in branches}
    figure = chart(height=int(max(LEAST, 2 * ABOVE + LEAF * leaves)))
    for branch in branches:
        (x0, y0), (x1, y1) = places[branch.path[:-1]], places[branch.path]
        start, end = x0 + SHELF, x1 + SHELF * (branch.path in parents)
        figure.add_scatter(x=[start, x1, end], y=[y0, y1, y1], mode="lines", hoverinfo="skip",
                           name=branch.word, line={"color": SERIES[0] if branch.kept else FADED, "shape": "linear",
                                                   "width": 1.5 + 4 * branch.kept**0.5 if branch.kept else 1})
    for shown, ink in ((True, INK), (False, QUIET)):
        chosen = [branch for branch in branches if bool(branch.kept) is shown]
        names = [f"<b>{plain(branch.word)}</b>" if shown else plain(branch.word) for branch in chosen]
        figure.add_scatter(x=[places[branch.path][0] for branch in chosen], name="kept" if shown else "cut off",
                           y=[places[branch.path][1] + RAISED * (branch.path in parents) for branch in chosen],
                           mode="text",
                           text=[Markup(f" {name} {branch.given}") for name, branch in zip(names, chosen, strict=True)],
                           textposition=["top right" if branch.path in parents else "middle right"
                                         for branch in chosen], textfont={"size": LETTER, "color": ink},
                           customdata=[branch.said for branch in chosen],
                           hovertemplate="%{customdata}<extra></extra>")
    figure.add_scatter(x=[0.05, SHELF], y=[places[()][1]] * 2, mode="lines+text", name="prompt",
                       text=[Markup(f"<b>{plain(root)}</b>"), ""],
                       line={"color": SERIES[0], "width": 2}, textposition="top right",
                       textfont={"size": LETTER, "color": INK}, hoverinfo="skip")
    figure.update_xaxes(visible=False, range=[0, deepest + BEYOND_LAST])
    figure.update_yaxes(visible=False, range=[-leaves + 0.4, 0.6])
    figure.update_layout(showlegend=False, margin={"l": 4, "r": 4, "t": 6, "b": 6})
    return figure


def _tree_places(paths: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return (depth, height) of the root and of every path, with leaves stacked vertically and parents centred between
    their first and last child."""
    children: dict[tuple[int, ...], list[tuple[int, ...]]] = {(): []}
    for path in paths:
        children[path] = []
        children[path[:-1]].append(path)
    places: dict[tuple[int, ...], tuple[float, float]] = {}
    rows = iter(range(len(paths) + 1))

    def put(path: tuple[int, ...]) -> float:
        heights = [put(child) for child in children[path]]
        places[path] = float(len(path)), (heights[0] + heights[-1]) / 2 if heights else -float(next(rows))
        return places[path][1]

    put(())
    return places


Unit = tuple[int, int]   # (layer, position); layer 0 holds the tokens
FREE = 0.5               # drawing units left free at each edge


def paths(tokens: int, joined: Sequence[tuple[Unit, Unit]], lit: Sequence[tuple[Unit, Unit]],
          chosen: tuple[int, int]) -> FigureSpec:
    """Draw a path through the layers. joined: all edges (lower, upper). lit: the path's edges. chosen: positions of the
    two tokens, from 0."""
    figure = chart(height=240)
    layers = max(high[0] for _, high in joined)
    for edges, colour, width, name in ((joined, FADED, 1, "joined"), (lit, ACCENT, 3.5, "path")):
        x = [value for low, high in edges for value in (low[1] + 1, high[1] + 1, None)]
        y = [value for low, high in edges for value in (low[0], high[0], None)]
        figure.add_line(x, y, colour, width, name=name, showlegend=False)
    dots = [(layer, place) for layer in range(layers + 1) for place in range(tokens)]
    on_way = {unit for edge in lit for unit in edge} | {(0, place) for place in chosen}
    figure.add_scatter(x=[place + 1 for _, place in dots], y=[layer for layer, _ in dots], mode="markers",
                       name="units", hoverinfo="skip", showlegend=False,
                       marker={"size": 13, "color": [ACCENT if dot in on_way else QUIET for dot in dots],
                               "line": {"width": 0}})
    figure.update_xaxes(range=[1 - FREE, tokens + FREE], tickvals=list(range(1, tokens + 1)),
                        showgrid=False)
    figure.update_yaxes(range=[-FREE, layers + FREE], visible=False)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 10, "b": 30})
    return figure
