"""Points, a curve that is their weighted mean at every place, and what each point counts at one place."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import ACCENT, MUTED, annotate, chart, series_colours
from viz.figures.drawing import FigureSpec
from viz.figures.lines import Line


def regression(theme: str, x: np.ndarray, curves: Sequence[Line], points: tuple[np.ndarray, np.ndarray, np.ndarray],
               here: tuple[float, float, str], *, axes: tuple[str, str], y_range: tuple[float, float],
               height: int = 400) -> FigureSpec:
    """curves over x. points: (x, y, weight) of each, the area of its dot is the weight. here: (x, the estimate there,
    words for its line).

    A point without weight keeps a small ring, so that nobody looks for it.
    """
    figure = chart(theme, *axes, height=height)
    at, values, weights = points
    palette = series_colours(theme)
    for curve in curves:
        figure.add_scatter(x=x, y=curve.y, mode="lines", name=curve.name, hovertemplate="%{y:.3g}", connectgaps=False,
                           line={"color": palette[curve.colour or 0], "width": 2.5, "dash": curve.style})
    names = [f"{place}" for place in range(len(at))]
    figure.add_scatter(x=at, y=values, mode="markers+text", text=names, textposition="top center", showlegend=False,
                       name="points", customdata=weights,
                       marker={"color": [palette[place % len(palette)] for place in range(len(at))], "opacity": 0.75,
                               "line_width": 0, "size": 7 + 34 * np.sqrt(np.nan_to_num(weights))},
                       hovertemplate="point %{text}<br>%{x:.3g}, %{y:.3g}<br>weight %{customdata:.4g}<extra></extra>")
    figure.add_scatter(x=[here[0]], y=[here[1]], mode="markers", showlegend=False, name="estimate",
                       hovertemplate="%{y:.4g}",
                       marker={"color": ACCENT[theme], "size": 13, "symbol": "diamond",
                               "line": {"color": MUTED[theme], "width": 1}})
    figure.update_xaxes(range=[float(x[0]), float(x[-1])])
    figure.update_yaxes(range=list(y_range))
    figure.update_layout(showlegend=len(curves) > 1)
    annotate(figure, theme, [(here[0], here[2])])
    return figure
