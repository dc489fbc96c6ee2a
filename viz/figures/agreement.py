"""Rank correlations of several measures with several references: a dot for each, the mean, what chance gives, and the
ceiling."""
from collections.abc import Mapping, Sequence

import numpy as np

from viz.figures.base import ACCENT, FADED, MUTED, chart, label_width, series_colours
from viz.figures.drawing import FigureSpec
from viz.format import true_minus

ROW_HEIGHT = 34          # pixels
ROW_SYMBOLS = ("circle", "square", "triangle-up")


def agreement(theme: str, names: Sequence[str], columns: Mapping[str, np.ndarray], means: tuple[str, np.ndarray], *,
              ceiling: tuple[float, str],
              axis: str, chance: tuple[float, str] | None = None, quiet: Sequence[str] = ()) -> FigureSpec:
    """names from the top down. columns: {reference: (name) or, with an interval, (name, 3) of value, low, high}; means:
    the same of their mean, with its name. ceiling: (value, words). chance: |ρ| up to which nothing is said. quiet:
    names of what is there only to be compared with."""
    figure = chart(theme, axis, "", height=120 + ROW_HEIGHT * len(names))
    palette, shifts = series_colours(theme), np.linspace(-0.24, 0.24, len(columns))
    for place, (name, values) in enumerate(columns.items()):
        _dots(figure, np.arange(len(names)) + shifts[place], values, name,
              {"color": palette[place], "size": 7, "symbol": ROW_SYMBOLS[place % len(ROW_SYMBOLS)], "opacity": 0.75},
              list(names))
    _dots(figure, np.arange(len(names)), means[1], means[0],
          {"size": 11, "symbol": "diamond",
           "color": [FADED[theme] if name in quiet else ACCENT[theme] for name in names]}, list(names))
    shapes, words = [], []
    if chance is not None:
        shapes.append({"type": "rect", "x0": -chance[0], "x1": chance[0], "yref": "paper", "y0": 0, "y1": 1,
                       "line_width": 0, "fillcolor": MUTED[theme], "opacity": 0.13, "layer": "below"})
        words.append((-chance[0], chance[1], "left"))
    if np.isfinite(ceiling[0]):
        shapes.append({"type": "line", "x0": ceiling[0], "x1": ceiling[0], "yref": "paper", "y0": 0, "y1": 1,
                       "line": {"color": MUTED[theme], "width": 2, "dash": "dash"}})
        words.append((ceiling[0], ceiling[1], "center"))
    shapes.append({"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1,
                   "line": {"color": FADED[theme], "width": 1}})
    figure.update_layout(shapes=shapes, legend={"y": 1.02 + 30 / (ROW_HEIGHT * len(names) + 60)}, margin_t=74,
                         margin_l=label_width(names, ""), annotations=[
        {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "text": text, "xanchor": side, "showarrow": False,
        "font": {"size": 11.5, "color": MUTED[theme]}} for x, text, side in words])
    lowest = min([-0.25 if chance is None else -chance[0],
                  *(float(np.nanmin(column)) for column in columns.values() if np.isfinite(column).any())])
    figure.update_xaxes(range=[max(lowest - 0.06, -1.04), 1.04], zeroline=False, dtick=0.5, tick0=0, tickangle=0)
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(names))), ticktext=list(names),
                        range=[len(names) - 0.5, -0.5], showgrid=False)
    return figure


def _dots(figure: FigureSpec, at: np.ndarray, values: np.ndarray, name: str, marker: dict, names: list[str]) -> None:
    if values.ndim == 1:
        figure.add_scatter(x=values, y=at, mode="markers", name=name, marker=marker, customdata=names,
                           hovertemplate="%{customdata}: %{x:.3f}")
        return
    x, low, high = values.T
    ends = [[true_minus(f"{end:z.2f}") for end in side] for side in (low, high)]
    hover = [f"{label}, {one} to {other}" for label, one, other in zip(names, *ends, strict=True)]
    figure.add_scatter(x=x, y=at, mode="markers", name=name, marker=marker, customdata=hover,
                       hovertemplate="%{customdata}: %{x:.3f}",
                       error_x={"type": "data", "symmetric": False, "array": high - x, "arrayminus": x - low,
                                "thickness": 1, "width": 0})
