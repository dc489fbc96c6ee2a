"""Heatmaps with numbers in their cells, each number black or white, whichever stands out more from its very cell."""
from collections.abc import Sequence
from typing import Any

import numpy as np

from viz import theme as colours
from viz.figures.drawing import FigureSpec, Markup

BLACK, WHITE = "#000000", "#ffffff"   # a page's ink is too pale for the cells in the middle of a ramp
EVEN = (1.05 * 0.05) ** 0.5 - 0.05    # luminance from which both stand out alike, 4.6 : 1 (WCAG 2.2)
CLEAR = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]
BLANK = "\u2007"                      # a space as wide as a digit


def add_cells(figure: FigureSpec, numbers: np.ndarray, texts: Sequence[Sequence[str]] | None, *,
              span: tuple[float, float], stops: list[list[Any]], **properties: Any) -> None:
    """Adds numbers (row, column), coloured by `stops` over `span`. texts: what stands in each cell, "" for nothing;
    None for no words at all.

    A heatmap's words have one colour, so the black ones stand in a second, clear heatmap over the first.
    """
    shown = {"z": numbers, "hoverongaps": False, "zmin": span[0], "zmax": span[1], "colorscale": stops} | properties
    if texts is None:
        figure.add_heatmap(**shown)
        return
    dark = _luminance(numbers, span, stops) < EVEN
    written = {"xgap": 1, "ygap": 1, "texttemplate": "%{text}"}
    figure.add_heatmap(**shown | written, text=_those(texts, dark), textfont_color=WHITE)
    figure.add_heatmap(**written, z=np.zeros(numbers.shape, np.int8), text=_those(texts, ~dark), textfont_color=BLACK,
                       colorscale=CLEAR, showscale=False, hoverinfo="skip")


def _luminance(numbers: np.ndarray, span: tuple[float, float], stops: list[list[Any]]) -> np.ndarray:
    """The relative luminance of every cell, 0 to 1; of a missing one that of the first stop."""
    shares = (np.nan_to_num(numbers, nan=span[0]) - span[0]) / (span[1] - span[0])
    channels = np.array([colours.rgb(stop) for _, stop in stops]).T
    return colours.luminance(np.stack([np.interp(shares, [place for place, _ in stops], channel)
                                       for channel in channels], -1))


def _those(texts: Sequence[Sequence[str]], mask: np.ndarray) -> list[list[str]]:
    """The words of the cells in `mask`. plotly measures letters by the longest word and by neighbours: the blanks in
    the corner let both heatmaps come to one size."""
    longest = max((len(text) for row in texts for text in row), default=0)
    masked = [[text if keep else "" for text, keep in zip(row, keeps, strict=True)]
              for row, keeps in zip(texts, mask, strict=True)]
    for row, column in ((0, 0), (0, 1), (1, 0)):
        if row < len(masked) and column < len(masked[0]):
            masked[row][column] = masked[row][column] or Markup(BLANK * longest)
    return masked
