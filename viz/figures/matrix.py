"""A matrix of numbers with names on its two sides: weights from 0 to 1, differences about 0, or anything else from its
smallest to its largest."""
from collections.abc import Sequence

import numpy as np

from viz import theme as colours
from viz.figures.base import category_axis, chart, fit_x_labels, label_width, signed_scale, weight_scale
from viz.figures.drawing import FigureSpec
from viz.figures.numbers import add_cells, signed_text

WRITTEN = 12     # cells a side up to which the numbers are written into the cells
RULER = 80       # pixels: the bar with its numbers
NAMED = 24       # names a side up to which a cell says both of its own


def matrix(theme: str, numbers: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, kind: str = "weights",
           axes: tuple[str, str] = ("key", "query"), height: int = 340, title: str = "", square: bool = True,
           digits: int = 2, bound: float | None = None, ruler: bool = True, angle: int | None = None) -> FigureSpec:
    """float (row, column), NaN where there is nothing. kind: weights (0 to 1), signed (symmetric about 0, up to
    `bound`), plain (0 to `bound`).

    Two equal names stay two: the axes are positions, the names are their labels. ruler: the bar that says which colour
    is which number. angle: of the columns' names, where it does not depend on the window (base.stand). """
    figure = chart(theme, *axes, height=height, title=title)
    numbers = np.asarray(numbers, np.float64)
    finite = numbers[np.isfinite(numbers)]
    limit = 1.0 if kind == "weights" else bound or float(np.abs(finite).max(initial=0)) or 1.0
    said = [[signed_text(each, f".{digits}f") for each in row]
            for row in numbers] if max(numbers.shape) <= WRITTEN else None
    named = max(numbers.shape) <= NAMED
    names = [[f"{row} ({i}) → {column} ({j})" for j, column in enumerate(columns)]
             for i, row in enumerate(rows)] if named else None
    lowest, stops = (-limit, signed_scale(theme)) if kind == "signed" else (0, weight_scale(theme))
    add_cells(figure, numbers, said, span=(lowest, limit), stops=stops, customdata=names, name=title or "matrix",
              showscale=ruler,
              hovertemplate=("%{customdata}" if named else "%{y} → %{x}") + "<br>%{z:.4g}<extra></extra>",
              colorbar={"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont_size": 11})
    figure.update_layout(plot_bgcolor=colours.FORBIDDEN if theme == "light" else "#1b2029",
                         margin={"l": label_width(rows, axes[1]), "r": RULER if ruler else 20,
                                 "t": 56 if title else 32})
    figure.update_xaxes(**category_axis(columns), showgrid=False, side="bottom", constrain="domain")
    figure.update_yaxes(**category_axis(rows), showgrid=False, autorange="reversed", constrain="domain",
                        **({"scaleanchor": "x"} if square else {}))
    fit_x_labels(figure, columns, angle)
    return figure

