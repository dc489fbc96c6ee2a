"""Draw matrices as colours with labelled rows and columns, importance scores of tokens, and rows of small pictures."""
import math
import textwrap
from collections.abc import Sequence

import numpy as np

from clearhead.model.core.query import frozen
from clearhead.viz.figures.base import (
    LETTER,
    NARROWEST,
    SIGN,
    category_axis,
    chart,
    fit_x_labels,
    label_width,
    signed_scale,
    tokens_shown,
    told_apart,
    weight_scale,
)
from clearhead.viz.figures.drawing import FigureSpec, Markup, plain
from clearhead.viz.style import theme as colours
from clearhead.viz.style.numbers import format_signed, true_minus
from clearhead.viz.style.theme import QUIET

WRITTEN = 12     # up to this many cells per side, numbers are written
RULER = 80       # width in pixels of the colour bar with its numbers
NAMED = 24       # up to this many cells per side, tooltips show names and positions
MOST_STRUCK = 40   # up to this many cells per side, negative cells are struck through


@frozen
class CellStyle:
    """How numbers are drawn as cells."""

    kind: str = "weights"        # "weights" (0 to 1), "signed" (symmetric around 0) or "plain" (from 0)
    bound: float | None = None   # for signed and plain: the number at full colour; the largest by default
    square: bool = True          # whether cells are square
    ruler: bool = True           # whether to draw the colour bar
    digits: int = 2              # decimals of the numbers in cells


WEIGHTS = CellStyle()


def matrix(numbers: np.ndarray, rows: Sequence[str | int] | None = None,
           columns: Sequence[str | int] | None = None, *, axes: tuple[str, str] = ("key", "query"), height: int = 340,
           title: str = "", angle: int | None = None, style: CellStyle = WEIGHTS) -> FigureSpec:
    """Draw a matrix of numbers, float (row, column), NaN for empty cells.

    Axes are positions labelled with names, so equal names stay separate; by default they are numbered. angle: fixed
    rotation of the column names (base.fit_x_labels).
    """
    figure, numbers = chart(*axes, height=height, title=title), np.asarray(numbers, np.float64)
    rows, columns = (tokens_shown(range(count) if names is None else names)
                     for names, count in zip((rows, columns), numbers.shape, strict=True))
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0)
    limit = 1.0 if style.kind == "weights" else style.bound or float(largest) or 1.0
    named, written = max(numbers.shape) <= NAMED, _written(numbers, style.digits)
    if style.kind == "signed" and not written and max(numbers.shape) <= MOST_STRUCK:
        _strike(figure, numbers / limit)
    figure.add_heatmap(
        written, z=numbers, zmin=-limit if style.kind == "signed" else 0, zmax=limit, hoverongaps=False,
        colorscale=signed_scale() if style.kind == "signed" else weight_scale(),
        customdata=_cell_names(rows, columns) if named else None, name=title or "matrix", showscale=style.ruler,
        hovertemplate=("%{customdata}" if named else "%{y} → %{x}") + "<br>%{z:.4g}<extra></extra>",
        colorbar={"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont": {"size": 11}})
    figure.update_layout(plot_bgcolor=colours.FORBIDDEN,
                         margin={"l": label_width(rows, axes[1]), "r": RULER if style.ruler else 20,
                                 "t": 56 if title else 32})
    figure.update_xaxes(**category_axis(columns), showgrid=False, side="bottom", constrain="domain")
    # rows with numbers in their cells are high enough for their names, also while presenting
    figure.update_yaxes(**category_axis(rows), showgrid=False, autorange="reversed", constrain="domain",
                        scaleanchor="x" if style.square else None, dtick=1 if len(rows) <= WRITTEN else None)
    fit_x_labels(figure, columns, angle)
    return figure


def _strike(figure: FigureSpec, shares: np.ndarray) -> None:
    """Strike through negative cells, so that they can be told apart without colour. shares: numbers divided by the
    bound, (row, column)."""
    for cells, ink in (((shares <= -colours.STRUCK) & (shares >= -0.5), colours.INK), (shares < -0.5, colours.PAPER)):
        path = "".join(f"M{x - 0.25},{y + 0.25}L{x + 0.25},{y - 0.25}" for y, x in np.argwhere(cells))
        if path:
            figure.add_shape(type="path", path=path, line={"color": ink, "width": 1}, opacity=0.5)


def _written(numbers: np.ndarray, digits: int) -> list[list[str]] | None:
    """Return the text of each cell, or None if there are too many cells."""
    if max(numbers.shape) > WRITTEN:
        return None
    return [[format_signed(number, f".{digits}f") for number in row] for row in numbers]


def _cell_names(rows: Sequence[str], columns: Sequence[str]) -> list[list[str]]:
    return [[f"{row} ({i}) → {column} ({j})" for j, column in enumerate(columns)] for i, row in enumerate(rows)]


ROW_HEIGHT = 27         # pixels
WRITTEN_COLUMNS = 20     # up to this many columns, numbers are written
UNITS = {0: "", -3: " · 10⁻³", -6: " · 10⁻⁶", -9: " · 10⁻⁹"}   # suffix of a row's name for its power of ten


def importance(groups: Sequence[Sequence[tuple[str, np.ndarray]]], tokens: Sequence[str],
               apart: Sequence[bool], *, title: str, apart_title: str) -> FigureSpec:
    """Draw importance scores as rows of cells. groups: rows (name, float (token)), with gaps between groups; NaN if a
    measure is undefined. apart: (token), whether a token is drawn separately, at the end.

    The colour shows the magnitude as a share of the row's largest among tokens that are not `apart`; larger values are
    clipped. Numbers are written to two digits of the largest, in powers of 1/1,000 if that is small.
    """
    order = [*np.flatnonzero(~np.asarray(apart)), -1,
             *np.flatnonzero(apart)] if any(apart) else list(range(len(tokens)))
    names: list[str] = []
    numbers: list[list[float]] = []
    for group in groups:
        for name, values in group if not names else [("", np.full(len(tokens), np.nan)), *group]:
            names.append(name)
            numbers.append([np.nan if place < 0 else values[place] for place in order])
    tokens = tokens_shown(tokens)
    apart_names = told_apart(tokens)
    figure, cells = chart(title, "", height=110 + ROW_HEIGHT * len(names)), np.array(numbers)
    compared = cells[:, :int((~np.asarray(apart)).sum())]
    largest = np.nanmax(np.abs(np.where(np.isfinite(compared), compared, 0)), axis=1, keepdims=True)
    largest = np.where(largest > 0, largest, 1)
    powers, texts = zip(*(_row_numbers(row, float(limit)) for row, limit in zip(cells, largest[:, 0], strict=True)),
                        strict=True)
    hover = [[f"{name} · {apart_names[place] if place >= 0 else ''}: {true_minus(f'{value:z.4g}')}"
              for place, value in zip(order, row, strict=True)]
             for name, row in zip(names, cells, strict=True)]
    figure.add_heatmap(texts if len(order) <= WRITTEN_COLUMNS else None, z=np.abs(cells) / largest, zmin=0, zmax=1,
                       hoverongaps=False, colorscale=weight_scale(), showscale=False, xgap=1, ygap=1, customdata=hover,
                       name=title, hovertemplate="%{customdata}<extra></extra>")
    columns = ["" if place < 0 else tokens[place] for place in order]
    figure.update_xaxes(**category_axis(columns), showgrid=False, side="bottom", ticks="", constrain="domain",
                        range=[-0.5, len(columns) - 0.5])   # otherwise plotly reserves room for labels over the cells
    fit_x_labels(figure, columns)
    labels = [name + UNITS[power] for name, power in zip(names, powers, strict=True)]
    figure.update_layout(margin={"l": label_width(labels, "")})
    figure.name_rows(labels, autorange="reversed", ticks="")
    if any(apart):
        figure.add_annotation(x=1, xref="paper", xanchor="right", y=1, yref="paper", yanchor="bottom",
                              text=apart_title, font={"size": 11.5, "color": QUIET})
    return figure


def _row_numbers(row: np.ndarray, largest: float) -> tuple[int, list[str]]:
    """Return (power of ten shared by a row's numbers, text of each cell). The largest number has two significant
    digits, so that every number fits its cell; numbers that would be written as 0 have the text ""."""
    largest *= 1 - 1e-5   # 1 may be 0.9999999 or 1.0000001 on another machine; use the same number of digits
    power = min(0, max(-9, 3 * math.floor(math.log10(largest * 100) / 3)))
    digits = min(3, max(0, 1 - math.floor(math.log10(largest / 10.0**power))))
    texts = [format_signed(value / 10.0**power, f".{digits}f") for value in row]
    return power, [text if text.strip("0.") else "" for text in texts]


NAME_SIZE = 12   # font size in pixels


def tiles(rows: Sequence[Sequence[tuple[str, np.ndarray] | None]], *, height: int = 300) -> FigureSpec:
    """Draw rows of pictures of the same size with their names below. rows: (name, pixels (y, x) from −1 to 1), or None
    for a gap. −1 has the page's colour, and 1 the darkest of the ramp."""
    high, wide = next(tile[1].shape for row in rows for tile in row if tile is not None)
    columns = max(map(len, rows))
    # number of characters that fit below a picture on a phone
    signs = max(1, int(NARROWEST / columns / (SIGN * NAME_SIZE / LETTER)))
    named = [[textwrap.wrap(tile[0], signs, break_long_words=False) if tile else [] for tile in row] for row in rows]
    step = high + 2 * max(len(lines) for row in named for lines in row)
    whole = np.full((len(rows) * step, columns * (wide + 1) - 1), np.nan)
    words = []
    for down, row in enumerate(rows):
        for across, (tile, lines) in enumerate(zip(row, named[down], strict=True)):
            if tile is None:
                continue
            top, left = down * step, across * (wide + 1)
            whole[top:top + high, left:left + wide] = tile[1]
            words.append({"x": left + (wide - 1) / 2, "y": top + high - 0.5, "yanchor": "top",
                          "text": Markup("<br>".join(map(plain, lines))), "showarrow": False,
                          "font": {"size": NAME_SIZE}})
    figure = chart(height=height)
    figure.add_heatmap(z=whole, zmin=-1, zmax=1, colorscale=weight_scale(), showscale=False, name="pixels",
                       hoverongaps=False, hovertemplate="%{z:.3f}<extra></extra>")
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain", constraintoward="top")
    figure.update_layout(annotations=words, margin={"l": 0, "r": 0, "t": 4, "b": 4})
    return figure
