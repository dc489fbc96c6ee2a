"""A matrix of numbers with names on its two sides: weights from 0 to 1, differences about 0, or anything else from its
smallest to its largest."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz import theme as colours
from viz.figures.base import category_axis, chart, fit_x_labels, label_width, signed_scale, tokens_shown, weight_scale
from viz.figures.drawing import FigureSpec
from viz.figures.numbers import add_cells
from viz.format import format_signed

WRITTEN = 12     # cells a side up to which the numbers are written into the cells
RULER = 80       # pixels: the bar with its numbers
NAMED = 24       # names a side up to which a cell says both of its own


@dataclass(frozen=True)
class CellStyle:
    """How numbers become cells."""

    kind: str = "weights"        # weights (0 to 1), signed (symmetric about 0) or plain (from 0)
    bound: float | None = None   # the number with the full colour, where it is not the largest (signed, plain)
    square: bool = True          # cells as wide as high
    ruler: bool = True           # the bar that says which colour is which number
    digits: int = 2              # behind the point, of numbers in cells


WEIGHTS = CellStyle()


def matrix(theme: str, numbers: np.ndarray, rows: Sequence[str], columns: Sequence[str], *,
           axes: tuple[str, str] = ("key", "query"), height: int = 340, title: str = "", angle: int | None = None,
           style: CellStyle = WEIGHTS) -> FigureSpec:
    """The figure of float (row, column), NaN where there is nothing.

    Two equal names stay two: the axes are positions, the names are their labels. angle: of the columns' names, where it
    does not depend on the window (base.fit_x_labels).
    """
    figure, rows, columns = chart(theme, *axes, height=height, title=title), tokens_shown(rows), tokens_shown(columns)
    numbers = np.asarray(numbers, np.float64)
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0)
    limit = 1.0 if style.kind == "weights" else style.bound or float(largest) or 1.0
    lowest, stops = (-limit, signed_scale(theme)) if style.kind == "signed" else (0, weight_scale(theme))
    named = max(numbers.shape) <= NAMED
    add_cells(figure, numbers, _written(numbers, style.digits), span=(lowest, limit), stops=stops,
              customdata=_cell_names(rows, columns) if named else None, name=title or "matrix", showscale=style.ruler,
              hovertemplate=("%{customdata}" if named else "%{y} → %{x}") + "<br>%{z:.4g}<extra></extra>",
              colorbar={"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont_size": 11})
    figure.update_layout(plot_bgcolor=colours.FORBIDDEN if theme == "light" else "#1b2029",
                         margin={"l": label_width(rows, axes[1]), "r": RULER if style.ruler else 20,
                                 "t": 56 if title else 32})
    figure.update_xaxes(**category_axis(columns), showgrid=False, side="bottom", constrain="domain")
    figure.update_yaxes(**category_axis(rows), showgrid=False, autorange="reversed", constrain="domain",
                        scaleanchor="x" if style.square else None)
    fit_x_labels(figure, columns, angle)
    return figure


def _written(numbers: np.ndarray, digits: int) -> list[list[str]] | None:
    """What stands in each cell; nothing where there are too many."""
    if max(numbers.shape) > WRITTEN:
        return None
    return [[format_signed(number, f".{digits}f") for number in row] for row in numbers]


def _cell_names(rows: Sequence[str], columns: Sequence[str]) -> list[list[str]]:
    return [[f"{row} ({i}) → {column} ({j})" for j, column in enumerate(columns)] for i, row in enumerate(rows)]
