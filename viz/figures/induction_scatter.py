"""Every head by two habits on random tokens: how much it looks one token back, and how well it matches prefixes."""
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz.figures.base import ACCENT, chart, series_colours

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def induction_scatter(theme: str, names: Sequence[str], previous: np.ndarray, prefix: np.ndarray, named: Sequence[int],
                      *, axes: tuple[str, str], height: int = 380) -> "Figure":
    """A dot a head; previous across, prefix upwards, both (head) from 0 to 1. named: the heads that stand out and have
    their name beside them."""
    loud = [place in named for place in range(len(names))]
    figure = chart(theme, *axes, height=height)
    figure.add_scatter(x=previous, y=prefix, mode="markers+text", hovertext=list(names), textposition="top center",
                       textfont_size=12, text=[name if is_loud else "" for name, is_loud in zip(names, loud)],
                       marker={"size": 9, "opacity": 0.7,
                               "color": [ACCENT[theme] if is_loud else series_colours(theme)[0] for is_loud in loud]},
                       hovertemplate="<b>%{hovertext}</b><br>%{x:.3f}<br>%{y:.3f}<extra></extra>")
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(range=[-0.04, 1.08], tickvals=[0, 0.25, 0.5, 0.75, 1])
    figure.update_layout(showlegend=False)
    return figure
