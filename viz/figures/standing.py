"""Curves over one axis and where one stands on them: a dot on each, joined, at the place that one moves."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import ACCENT, SYMBOLS, series_colours
from viz.figures.drawing import FigureSpec
from viz.figures.lines import Line, lines

HERE = 13   # pixels


def standing(theme: str, x: np.ndarray, drawn: Sequence[Line], here: tuple[float, dict[int, float]], *,
             axes: tuple[str, str], marks: Sequence[tuple[float, str]], y_range: tuple[float, float],
             height: int = 400) -> FigureSpec:
    """drawn: over x, on logarithms both. here: (x, {a line's colour: its y there}). marks: vertical lines with
    words."""
    figure = lines(theme, x, drawn, axes=axes, log="xy", marks=marks, y_range=y_range, height=height)
    at, palette = here[0], series_colours(theme)
    if len(here[1]) > 1:
        figure.add_scatter(x=[at] * len(here[1]), y=list(here[1].values()), mode="lines", showlegend=False,
                           hoverinfo="skip", name="apart", line={"color": ACCENT[theme], "width": 4})
    for symbol, (colour, value) in zip(SYMBOLS, here[1].items(), strict=False):
        figure.add_scatter(x=[at], y=[value], mode="markers", showlegend=False, name="here", hoverinfo="skip",
                           marker={"color": palette[colour], "size": HERE, "symbol": symbol,
                                   "line": {"color": ACCENT[theme], "width": 2}})
    return figure
