"""What several measures say of the same tokens: one row a measure, each coloured from nothing to its own largest, with
its own numbers."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import MUTED, category_axis, chart, fit_x_labels, label_width, weight_scale
from viz.figures.drawing import FigureSpec
from viz.figures.numbers import add_cells
from viz.format import format_signed

ROW = 27         # pixels
WRITTEN = 20     # columns up to which the numbers stand in the cells


def importance(theme: str, groups: Sequence[Sequence[tuple[str, np.ndarray]]], tokens: Sequence[str],
               apart: Sequence[bool], *, title: str, apart_title: str) -> FigureSpec:
    """groups of (name, float (token)), a gap between them; NaN where a measure says nothing. The colour is the size, as
    a share of the largest of the tokens that are not `apart`; those stand behind the others, and what is larger there
    has the last colour. A number is written where it is at least a hundredth of that."""
    order = [*np.flatnonzero(~np.asarray(apart)), -1,
             *np.flatnonzero(apart)] if any(apart) else list(range(len(tokens)))
    names: list[str] = []
    numbers: list[list[float]] = []
    for group in groups:
        for name, values in group if not names else [("", np.full(len(tokens), np.nan)), *group]:
            names.append(name)
            numbers.append([np.nan if place < 0 else values[place] for place in order])
    figure, cells = chart(theme, title, "", height=110 + ROW * len(names)), np.array(numbers)
    compared = cells[:, :int((~np.asarray(apart)).sum())]
    largest = np.nanmax(np.abs(np.where(np.isfinite(compared), compared, 0)), axis=1, keepdims=True)
    largest = np.where(largest > 0, largest, 1)
    texts = [[format_signed(value, ".2g" if abs(value) < 99.5 else ".0f") if abs(value) >= limit / 100 else ""
              for value in row]
             for row, limit in zip(cells, largest[:, 0], strict=True)]
    hover = [[f"{name} · {tokens[place] if place >= 0 else ''}: {value:.4g}"
              for place, value in zip(order, row, strict=True)]
             for name, row in zip(names, cells, strict=True)]
    add_cells(figure, np.abs(cells) / largest, texts if len(order) <= WRITTEN else None, span=(0, 1),
              stops=weight_scale(theme), showscale=False,
              xgap=1, ygap=1, customdata=hover, name=title, hovertemplate="%{customdata}<extra></extra>")
    columns = ["" if place < 0 else tokens[place] for place in order]
    figure.update_xaxes(**category_axis(columns), showgrid=False, side="bottom", ticks="", constrain="domain")
    fit_x_labels(figure, columns)
    figure.update_layout(margin_l=label_width(names, ""))
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(names))), ticktext=names, showgrid=False,
                        autorange="reversed", ticks="")
    if any(apart):
        figure.add_annotation(x=(len(order) - 1 + order.index(-1) + 1) / 2, y=1, yref="paper", yanchor="bottom",
                              text=apart_title, showarrow=False, font={"size": 11.5, "color": MUTED[theme]})
    return figure
