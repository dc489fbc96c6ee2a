"""One number a head against its layer: a dot for each head, the mean of each layer, and what the mask alone would
give."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import ACCENT, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec
from viz.format import head_label

TICKS = 8   # layers written under the axis, at most; as many as a third of a page has room for


def by_layer(theme: str, places: Sequence[tuple[int, int]], values: np.ndarray, *, axes: tuple[str, str],
             names: tuple[str, str], line: tuple[str, np.ndarray] | None = None, marked: tuple[int, int] | None = None,
             height: int = 340) -> FigureSpec:
    """places: (layer, head) of each value. names: of the dots and of the means. line: (name, number a head), its mean a
    layer. marked: a head that stands out."""
    figure = chart(theme, *axes, height=height)
    layers, colour = np.array([layer for layer, _ in places]), series_colours(theme)[0]
    levels = sorted(set(layers.tolist()))
    labels = [f"layer {layer} · head {head}" for layer, head in places]
    figure.add_scatter(x=layers, y=values, mode="markers", name=names[0], customdata=labels,
                       marker={"color": colour, "size": 7, "opacity": 0.55},
                       hovertemplate="%{customdata}: %{y:.3f}<extra></extra>")
    figure.add_scatter(x=levels, y=[float(values[layers == layer].mean()) for layer in levels], mode="lines",
                       name=names[1], line={"color": colour, "width": 2}, hovertemplate="%{y:.3f}")
    if line is not None:
        figure.add_scatter(x=levels, y=[float(line[1][layers == layer].mean()) for layer in levels], mode="lines",
                           name=line[0],
                           line={"color": MUTED[theme], "width": 1.5, "dash": "dash"}, hovertemplate="%{y:.3f}")
    if marked is not None and marked in places:
        at = list(places).index(marked)
        figure.add_scatter(x=[marked[0]], y=[values[at]], mode="markers", name=head_label(*marked),
                           hovertemplate="%{y:.3f}", marker={"color": ACCENT[theme], "size": 11, "symbol": "diamond"})
    figure.update_xaxes(dtick=-(-len(levels) // TICKS), tick0=levels[0], range=[levels[0] - 0.5, levels[-1] + 0.5],
                        tickangle=0)
    figure.update_yaxes(rangemode="tozero")
    return figure
