"""A height over a plane as colour, and paths over it."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import DASHES, MUTED, SYMBOLS, chart, series_colours, weight_scale
from viz.figures.drawing import FigureSpec


def loss_surface(theme: str, x: np.ndarray, y: np.ndarray, heights: np.ndarray,
                 paths: Sequence[tuple[str, int, np.ndarray]], *, axes: tuple[str, str], name: str, height: int = 420,
                 title: str = "") -> FigureSpec:
    """heights (y, x), at least 0. paths: (name, place in theme.HEADS, places (step, 2)), which begin at a ring; what
    leaves the plane is cut off."""
    figure = chart(theme, *axes, height=height, title=title)
    palette = series_colours(theme)
    figure.add_heatmap(x=x, y=y, z=heights, zmin=0, colorscale=weight_scale(theme), name=name,
                       hovertemplate="%{fullData.name} %{z:.4g}<extra></extra>",
                       colorbar={"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont_size": 11})
    for number, (path, colour, places) in enumerate(paths):
        figure.add_scatter(x=places[:, 0], y=places[:, 1], mode="lines+markers", name=path,
                           line={"color": palette[colour], "width": 2, "dash": DASHES[number % len(DASHES)]},
                           marker={"size": 6, "color": palette[colour], "symbol": SYMBOLS[number % len(SYMBOLS)]},
                           customdata=np.arange(len(places)),
                           hovertemplate="%{fullData.name}, step %{customdata}<br>%{x:.4g}, %{y:.4g}<extra></extra>")
    if paths:
        first = paths[0][2][0]
        figure.add_scatter(x=[first[0]], y=[first[1]], mode="markers", showlegend=False, name="start", hoverinfo="skip",
                           marker={"size": 14, "color": "rgba(0,0,0,0)", "line": {"color": MUTED[theme], "width": 2}})
    figure.update_xaxes(range=[float(x[0]), float(x[-1])], showgrid=False)
    figure.update_yaxes(range=[float(y[0]), float(y[-1])], showgrid=False)
    return figure
