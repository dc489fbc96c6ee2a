"""Lines over one axis, with bands, bounds and marks: whatever depends on a temperature, a width, a distance or a
depth."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viz import theme as colours
from viz.figures.base import DASHES, MUTED, SYMBOLS, annotate, chart, series_colours
from viz.figures.drawing import FigureSpec

NAMED = 12   # whole numbers on the horizontal axis up to which each is written


@dataclass(frozen=True, eq=False)
class Line:
    """One series."""

    name: str                                           # in the legend
    y: np.ndarray                                       # one number for each x
    colour: int | None = 0                              # a place in theme.HEADS; None: grey, it stands for others
    style: str = "solid"                                # dots, or a dash of plotly's
    band: tuple[np.ndarray, np.ndarray] | None = None   # (low, high) round it


def lines(theme: str, x: np.ndarray, drawn: Sequence[Line], *, axes: tuple[str, str], log: str = "",
          marks: Sequence[tuple[float, str]] = (), bounds: Sequence[tuple[float, str]] = (),
          y_range: tuple[float, float] | None = None, height: int = 340) -> FigureSpec:
    """The figure of the lines over x. log: which axes are logarithmic, "x", "y" or "xy". marks: vertical lines with
    words; bounds: horizontal ones."""
    figure = chart(theme, *axes, height=height)
    figure.update_layout(hovermode="x unified" if len(drawn) <= 10 else "closest", showlegend=len(drawn) > 1)
    if "x" in log:
        figure.update_xaxes(type="log", range=list(np.log10([x[0], x[-1]])), dtick=1 if x[-1] / x[0] > 50 else None)
    elif np.issubdtype(np.asarray(x).dtype, np.integer) and len(x) <= NAMED:
        figure.update_xaxes(tickmode="array", tickvals=list(x))
    if "y" in log:
        wide = y_range is not None and y_range[1] / y_range[0] > 1e3
        figure.update_yaxes(type="log", exponentformat="power", dtick=1 if wide else None)
    if y_range is not None:
        figure.update_yaxes(range=list(np.log10(y_range) if "y" in log else y_range))
    palette = series_colours(theme)
    points = 0
    for line in _dashed(drawn):
        colour = MUTED[theme] if line.colour is None else palette[line.colour % len(palette)]
        _draw(figure, x, line, colour, SYMBOLS[points % len(SYMBOLS)])
        points += line.style == "dots"
    annotate(figure, theme, marks, bounds)
    return figure


def _dashed(drawn: Sequence[Line]) -> list[Line]:
    """The lines, told apart without their colours too, as on grey paper: one that would have the dashes of another gets
    the next that none has."""
    free = [dash for dash in DASHES if all(line.style != dash or line.style == "solid" for line in drawn)]
    taken: set[str] = set()
    told_apart = []
    for line in drawn:
        if line.colour is not None and line.style != "dots":
            style = next((dash for dash in (line.style, *free, *DASHES) if dash not in taken), line.style)
            taken.add(style)
            line = replace(line, style=style)
        told_apart.append(line)
    return told_apart


def _draw(figure: FigureSpec, x: np.ndarray, line: Line, colour: str, symbol: str) -> None:
    """symbol: of the dots, where it has dots instead of a line."""
    if line.band is not None:
        red, green, blue = colours.rgb(colour)
        figure.add_scatter(x=x, y=line.band[1], mode="lines", line_width=0, showlegend=False, hoverinfo="skip",
                           name=f"{line.name}, high")
        figure.add_scatter(x=x, y=line.band[0], mode="lines", line_width=0, fill="tonexty",
                           fillcolor=f"rgba({red},{green},{blue},0.18)",
                           showlegend=False, hoverinfo="skip", name=f"{line.name}, low")
    dots = line.style == "dots"
    figure.add_scatter(x=x, y=line.y, name=line.name, mode="markers" if dots else "lines",
                       marker={"color": colour, "size": 7, "symbol": symbol},
                       line={"color": colour, "width": 2 if line.colour is not None else 1,
                             "dash": "solid" if dots else line.style},
                       hovertemplate="%{y:.4g}")
