"""Two twin sentences in one picture: each head as a dot, its preference in the one across, in the other upwards."""
from collections.abc import Sequence

import numpy as np

from viz import theme as colours
from viz.figures.base import ACCENT, FADED, GRID, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec


def twins(theme: str, names: Sequence[str], here: np.ndarray, there: np.ndarray, chosen: int | None, *,
          axes: tuple[str, str], corners: tuple[str, str, str, str], height: int = 430) -> FigureSpec:
    """here and there: (head, 2), the weights to the nouns A and B. Across: A minus B here; upwards: A minus B in the
    twin.

    A dot's area is the weight on both nouns. corners: what the four corners mean, from the lower right (A here, B
    there) round to the left: lower right, upper right, upper left, lower left. The lower right one is drawn as the one
    that is looked for. """
    x, y = here[:, 0] - here[:, 1], there[:, 0] - there[:, 1]
    reach = 1.2 * max(0.05, float(np.abs([x, y]).max()))
    outer = _outer(x, y, reach)
    marked = [place == chosen for place in range(len(names))]
    figure = chart(theme, *axes, height=height)
    figure.add_scatter(x=[-reach, reach], y=[-reach, reach], mode="lines", hoverinfo="skip",
                       line={"color": FADED[theme], "dash": "dot", "width": 1.5})
    figure.add_scatter(
        x=x, y=y, mode="markers+text", hovertext=list(names), customdata=np.column_stack([here, there]),
        textposition="top center", textfont_size=12,
        text=[name if mark or place in outer else "" for place, (name, mark) in enumerate(zip(names, marked))],
        marker={"size": 5 + 26 * np.sqrt(np.maximum(here.sum(1), there.sum(1))), "opacity": 0.72,
                "color": [ACCENT[theme] if mark else series_colours(theme)[0] for mark in marked],
                "line": {"width": 1, "color": colours.PAPER[theme]}},
        hovertemplate="<b>%{hovertext}</b><br>%{customdata[0]:.3f} | %{customdata[1]:.3f}<br>"
                      "%{customdata[2]:.3f} | %{customdata[3]:.3f}<extra></extra>")
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(range=[-reach, reach], zeroline=True, zerolinecolor=MUTED[theme])
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


def _outer(x: np.ndarray, y: np.ndarray, reach: float, most: int = 6) -> set[int]:
    """The dots furthest from the middle, as far as their names do not meet: those that get a name."""
    named: list[int] = []
    for place in np.argsort(-np.hypot(x, y))[:3 * most].tolist():
        if all(abs(x[place] - x[other]) > 0.14 * reach or abs(y[place] - y[other]) > 0.1 * reach
               for other in named) and len(named) < most:
            named.append(place)
    return set(named)
