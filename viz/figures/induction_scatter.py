"""Every head by two habits on random tokens: how much it looks one token back, and how well it matches prefixes."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz.figures.base import ACCENT, chart, series_colours
from viz.figures.labels import name_sides, placed_points

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DOT, LETTERS = 9, 12   # pixels: a head, and the letters of its name


def induction_scatter(theme: str, names: Sequence[str], previous: np.ndarray, prefix: np.ndarray, named: Sequence[int],
                      *, axes: tuple[str, str], height: int = 380) -> "Figure":
    """A dot a head; previous across, prefix upwards, both (head) from 0 to 1. named: the heads that stand out and have
    their name beside them."""
    loud = [place in named for place in range(len(names))]
    figure = chart(theme, *axes, height=height)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(range=[-0.04, 1.08], tickvals=[0, 0.25, 0.5, 0.75, 1])
    at, room = placed_points(figure, previous, prefix)
    sides = dict(zip(named, name_sides(at, room, np.full(len(at), DOT / 2),
                                       [(place, names[place], LETTERS) for place in named]), strict=True))
    figure.add_scatter(x=previous, y=prefix, mode="markers+text", hovertext=list(names), textfont_size=LETTERS,
                       textposition=[sides.get(place) or "top center" for place in range(len(names))],
                       text=[name if sides.get(place) else "" for place, name in enumerate(names)],
                       marker={"size": DOT, "opacity": 0.7,
                               "color": [ACCENT[theme] if is_loud else series_colours(theme)[0] for is_loud in loud]},
                       hovertemplate="<b>%{hovertext}</b><br>%{x:.3f}<br>%{y:.3f}<extra></extra>")
    figure.update_layout(showlegend=False)
    return figure
