"""Two twin sentences in one picture: each head as a dot, its preference in the one across, in the other upwards."""
from collections.abc import Sequence

import numpy as np

from viz import theme as colours
from viz.figures.base import ACCENT, FADED, GRID, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec
from viz.figures.labels import name_sides, placed_points

NAMED_TWINS, LETTERS = 7, 12     # dots that have their name beside them, at most; the size of its letters
CORNER = 20                # pixels above and below the dots that are the corners' own


def twins(theme: str, names: Sequence[str], here: np.ndarray, there: np.ndarray, chosen: int | None, *,
          axes: tuple[str, str], corners: tuple[str, str, str, str], height: int = 430) -> FigureSpec:
    """here and there: (head, 2), the weights to the nouns A and B. Across: A minus B here; upwards: A minus B in the
    twin.

    A dot's area is the weight on both nouns. corners: what the four corners mean, from the lower right (A here, B
    there) round to the left: lower right, upper right, upper left, lower left. The lower right one is drawn as the one
    that is looked for. """
    sizes = np.maximum(here.sum(1), there.sum(1))
    order = sorted(range(len(names)), key=lambda place: (place == chosen, -sizes[place]))   # the last one lies on top
    names, here, there = [names[place] for place in order], here[order], there[order]
    chosen = None if chosen is None else order.index(chosen)
    x, y = here[:, 0] - here[:, 1], there[:, 0] - there[:, 1]
    radii = (5 + 26 * np.sqrt(sizes[order])) / 2
    marked = [place == chosen for place in range(len(names))]
    figure = chart(theme, *axes, height=height)
    reach = _reach(figure, x, y, radii)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(range=[-reach, reach], zeroline=True, zerolinecolor=MUTED[theme])
    sides = _twin_sides(figure, x, y, radii, names, chosen)
    figure.add_scatter(x=[-reach, reach], y=[-reach, reach], mode="lines", hoverinfo="skip",
                       line={"color": FADED[theme], "dash": "dot", "width": 1.5})
    figure.add_scatter(
        x=x, y=y, mode="markers+text", hovertext=list(names), customdata=np.column_stack([here, there]),
        textposition=[sides.get(place) or "top center" for place in range(len(names))], textfont_size=LETTERS,
        text=[name if sides.get(place) else "" for place, name in enumerate(names)],
        marker={"size": 2 * radii, "opacity": 0.72,
                "color": [ACCENT[theme] if mark else series_colours(theme)[0] for mark in marked],
                "line": {"width": 1, "color": colours.PAPER[theme]}},
        hovertemplate="<b>%{hovertext}</b><br>%{customdata[0]:.3f} | %{customdata[1]:.3f}<br>"
                      "%{customdata[2]:.3f} | %{customdata[3]:.3f}<extra></extra>")
    wanted = {"type": "rect", "x0": 0, "x1": reach, "y0": -reach, "y1": 0, "fillcolor": GRID[theme], "opacity": 0.6,
              "line_width": 0, "layer": "below"}
    figure.update_layout(showlegend=False, shapes=[wanted],
                         annotations=[_corner(theme, place, words) for place, words in enumerate(corners)])
    return figure


def _corner(theme: str, place: int, words: str) -> dict:
    """The words of a corner; the first is the one that is looked for."""
    at, up = ((1, 0), (1, 1), (0, 1), (0, 0))[place]
    return {"x": at, "y": up, "xref": "paper", "yref": "paper", "xanchor": ("left", "right")[at],
            "yanchor": ("bottom", "top")[up], "text": words,
            "showarrow": False, "font": {"size": 12.5, "color": ACCENT[theme] if place == 0 else MUTED[theme]}}


def _reach(figure: FigureSpec, x: np.ndarray, y: np.ndarray, radii: np.ndarray) -> float:
    """How far the axes run from 0 to either side so that every dot is whole, below the upper corners' words and above
    the lower ones', in the narrowest chart."""
    at_once = max(0.05, float(np.abs([x, y]).max()))
    figure.update_xaxes(range=[-at_once, at_once])
    figure.update_yaxes(range=[-at_once, at_once])
    _, room = placed_points(figure, x, y)
    across = np.abs(x) / (1 - 2 * (radii + 2) / room[0])
    upwards = np.abs(y) / (1 - 2 * (radii + CORNER) / room[1])
    return max(at_once, float(across.max()), float(upwards.max()))


def _twin_sides(figure: FigureSpec, x: np.ndarray, y: np.ndarray, radii: np.ndarray, names: Sequence[str],
           chosen: int | None) -> dict[int, str]:
    """The side of its dot on which a name stands: of the chosen head, and of the ones furthest from the middle that
    find a place, on no other name, dot or corner's words."""
    at, room = placed_points(figure, x, y)
    far = [place for place in np.argsort(-np.hypot(x, y), kind="stable").tolist() if place != chosen]
    order = ([] if chosen is None else [chosen]) + far[:3 * NAMED_TWINS]
    inside = room - [0, 2 * CORNER]
    sides = name_sides(at - [0, CORNER], inside, radii, [(place, names[place], LETTERS) for place in order],
                       always=int(chosen is not None))
    placed = [(place, side) for place, side in zip(order, sides, strict=True) if side]
    return dict(placed[:NAMED_TWINS])
