"""What several measures say of the same tokens: one row a measure, each coloured from nothing to its own largest, with
its own numbers."""
import math
from collections.abc import Sequence

import numpy as np

from viz.figures.base import (
    MUTED,
    category_axis,
    chart,
    fit_x_labels,
    label_width,
    tokens_shown,
    told_apart,
    weight_scale,
)
from viz.figures.drawing import FigureSpec
from viz.figures.numbers import add_cells
from viz.format import format_signed, true_minus

ROW_HEIGHT = 27         # pixels
WRITTEN_COLUMNS = 20     # columns up to which the numbers stand in the cells
UNITS = {0: "", -3: " · 10⁻³", -6: " · 10⁻⁶", -9: " · 10⁻⁹"}   # behind the name of a row whose numbers are so small


def importance(theme: str, groups: Sequence[Sequence[tuple[str, np.ndarray]]], tokens: Sequence[str],
               apart: Sequence[bool], *, title: str, apart_title: str) -> FigureSpec:
    """groups of (name, float (token)), a gap between them; NaN where a measure says nothing. The colour is the size, as
    a share of the largest of the tokens that are not `apart`; those stand behind the others, and what is larger there
    has the last colour. Numbers are written with two digits of the largest, in thousandths where that is small."""
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
    figure, cells = chart(theme, title, "", height=110 + ROW_HEIGHT * len(names)), np.array(numbers)
    compared = cells[:, :int((~np.asarray(apart)).sum())]
    largest = np.nanmax(np.abs(np.where(np.isfinite(compared), compared, 0)), axis=1, keepdims=True)
    largest = np.where(largest > 0, largest, 1)
    powers, texts = zip(*(_row_numbers(row, float(limit)) for row, limit in zip(cells, largest[:, 0], strict=True)),
                        strict=True)
    hover = [[f"{name} · {apart_names[place] if place >= 0 else ''}: {true_minus(f'{value:z.4g}')}"
              for place, value in zip(order, row, strict=True)]
             for name, row in zip(names, cells, strict=True)]
    add_cells(figure, np.abs(cells) / largest, texts if len(order) <= WRITTEN_COLUMNS else None, span=(0, 1),
              stops=weight_scale(theme), showscale=False,
              xgap=1, ygap=1, customdata=hover, name=title, hovertemplate="%{customdata}<extra></extra>")
    columns = ["" if place < 0 else tokens[place] for place in order]
    figure.update_xaxes(**category_axis(columns), showgrid=False, side="bottom", ticks="", constrain="domain",
                        range=[-0.5, len(columns) - 0.5])   # else plotly makes room for the words above the cells
    fit_x_labels(figure, columns)
    labels = [name + UNITS[power] for name, power in zip(names, powers, strict=True)]
    figure.update_layout(margin_l=label_width(labels, ""))
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(names))), ticktext=labels, showgrid=False,
                        autorange="reversed", ticks="")
    if any(apart):
        figure.add_annotation(x=1, xref="paper", xanchor="right", y=1, yref="paper", yanchor="bottom",
                              text=apart_title, showarrow=False, font={"size": 11.5, "color": MUTED[theme]})
    return figure


def _row_numbers(row: np.ndarray, largest: float) -> tuple[int, list[str]]:
    """(the power of 1,000 that the numbers of a row are written in, what stands in each cell): as many digits as the
    largest number needs for two that count, so that no number is wider than its cell; "" where they would be 0."""
    largest *= 1 - 1e-5   # what is 1 here is 0.9999999 or 1.0000001 on another machine: the same digits for all three
    power = min(0, max(-9, 3 * math.floor(math.log10(largest * 100) / 3)))
    digits = min(3, max(0, 1 - math.floor(math.log10(largest / 10.0**power))))
    texts = [format_signed(value / 10.0**power, f".{digits}f") for value in row]
    return power, [text if text.strip("0.") else "" for text in texts]
