"""Measured numbers on two log axes, each series with the power of n that fits its end: what grows like n, and what like
n²."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz.figures.base import SYMBOLS, annotate, chart, series_colours
from viz.figures.drawing import FigureSpec


@dataclass(frozen=True, eq=False)
class PowerSeries:
    """One measured series."""

    name: str       # in the legend
    x: np.ndarray   # where it was measured
    y: np.ndarray   # what was measured there
    colour: int     # a place in theme.HEADS
    # (exponent p, factor c, from which x on), drawn as the line c · xᵖ; None while there are too few numbers
    fit: tuple[float, float, float] | None = None


def power_law(theme: str, drawn: Sequence[PowerSeries], *, axes: tuple[str, str], x_range: tuple[float, float],
              marks: Sequence[tuple[float, str]] = (), height: int = 380, title: str = "") -> FigureSpec:
    """Dots with a thin line through them, and the fitted power as a broad pale line behind. The slope on these axes is
    the exponent."""
    figure = chart(theme, *axes, height=height, title=title)
    figure.update_xaxes(type="log", range=list(np.log10(x_range)), dtick=1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    palette = series_colours(theme)
    for line in drawn:
        colour = palette[line.colour]
        if line.fit is not None:
            exponent, factor, start = line.fit
            ends = np.array([start, line.x[-1]])
            figure.add_scatter(x=ends, y=factor * ends**exponent, mode="lines", line={"color": colour, "width": 9},
                               opacity=0.3, showlegend=False,
                               name=f"{line.name}: n^{exponent:z.2f}", hovertemplate="%{fullData.name}<extra></extra>")
        figure.add_scatter(x=line.x, y=line.y, name=line.name, mode="lines+markers", line={"color": colour, "width": 1},
                           marker={"color": colour, "size": 7, "symbol": SYMBOLS[line.colour % len(SYMBOLS)]},
                           hovertemplate="n = %{x:,}: %{y:.4g}")
    figure.update_layout(showlegend=True)
    annotate(figure, theme, marks)
    return figure
