"""Heads as points in a plane, coloured by layer; and how well the plane keeps their distances."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import ACCENT, MUTED, chart, scale, series
from viz.figures.drawing import Drawing

NAMED = 80   # heads up to which every one has its name beside it


def head_map(theme: str, places: Sequence[tuple[int, int]], at: np.ndarray, *, marked: tuple[int, int],
             near: Sequence[int] = (), layer_word: str = "layer", height: int = 520) -> Drawing:
    """at: float (head, 2). marked: the head that stands out; near: places in the list, joined to it. Both axes have one scale and no unit."""
    figure = chart(theme, height=height)
    layers = np.array([layer for layer, _ in places])
    names = [f"{layer}·{head}" for layer, head in places]
    here = list(places).index(marked)
    for other in near:
        figure.add_scatter(x=at[[here, other], 0], y=at[[here, other], 1], mode="lines", line={"color": ACCENT[theme], "width": 1}, hoverinfo="skip",
                           name=f"{names[here]} to {names[other]}")
    ramp = [[place, scale(theme)[2 + round(place * (len(scale(theme)) - 3))][1]] for place in np.linspace(0, 1, len(scale(theme)) - 2)]
    figure.add_scatter(x=at[:, 0], y=at[:, 1], mode="markers+text" if len(places) <= NAMED else "markers", text=names, textposition="top center",
                       textfont={"size": 11, "color": MUTED[theme]}, customdata=names, hovertemplate="%{customdata}<extra></extra>", name="heads",
                       marker={"color": layers, "colorscale": ramp, "size": 10, "colorbar": {"title": {"text": layer_word}, "thickness": 10,
                               "outlinewidth": 0, "tickformat": "d"}, "line": {"color": MUTED[theme], "width": 0.5}})
    figure.add_scatter(x=[at[here, 0]], y=[at[here, 1]], mode="markers+text", text=[names[here]], textposition="bottom center", name=names[here],
                       marker={"color": ACCENT[theme], "size": 14, "symbol": "diamond"}, textfont={"color": ACCENT[theme], "size": 14},
                       hovertemplate="%{text}<extra></extra>")
    figure.update_layout(showlegend=False)
    figure.update_xaxes(showticklabels=False, ticks="")
    figure.update_yaxes(scaleanchor="x", showticklabels=False, ticks="")
    return figure


def kept(theme: str, wanted: np.ndarray, found: np.ndarray, *, axes: tuple[str, str], height: int = 520) -> Drawing:
    """Shepard's diagram: for every pair its distance in the plane against the distance wanted, and the line where both are equal."""
    figure = chart(theme, *axes, height=height)
    above = np.triu_indices(len(wanted), 1)
    step = max(1, len(above[0]) // 4000)   # a plotted point a pair is enough up to there
    most = float(max(wanted[above].max(), found[above].max()))
    figure.add_scatter(x=wanted[above][::step], y=found[above][::step], mode="markers", name="pairs",
                       hovertemplate="%{x:.3f} → %{y:.3f}<extra></extra>", marker={"color": series(theme)[0], "size": 4, "opacity": 0.35})
    figure.add_scatter(x=[0, most], y=[0, most], mode="lines", name="equal", hoverinfo="skip",
                       line={"color": MUTED[theme], "dash": "dash", "width": 1.5})
    figure.update_layout(showlegend=False)
    return figure
