"""A figure's numbers as rows of a table: what its CSV holds, and what a screen reader may be given."""
from typing import Any

import numpy as np

from viz.figures.drawing import FigureSpec


def figure_rows(drawn: FigureSpec) -> list[list[Any]]:
    """[series, x, y, value] with a header: one row a point; heatmaps have a value for each x and y, other traces none.
    Axes' names head x and y."""
    figure = drawn.plotly()
    layout = figure.layout
    rows: list[list[Any]] = [["series", layout.xaxis.title.text or "x", layout.yaxis.title.text or "y", "value"]]
    for number, trace in enumerate(figure.data):
        name = trace.name or f"series {number}"
        if trace.type == "heatmap" and trace.hoverinfo != "skip":   # the clear one over another has its words only
            rows += _cells(name, trace)
        elif trace.y is not None:
            xs = trace.x if trace.x is not None else range(len(trace.y))
            rows += [[name, _plain(x), _plain(y), ""] for x, y in zip(xs, trace.y, strict=True)]
    return rows


def _cells(name: str, trace: Any) -> list[list[Any]]:
    numbers = np.asarray(trace.z)
    xs = trace.x if trace.x is not None else range(numbers.shape[1])
    ys = trace.y if trace.y is not None else range(numbers.shape[0])
    return [[name, _plain(x), _plain(y), _plain(numbers[row, column])] for row, y in enumerate(ys)
            for column, x in enumerate(xs)]


def _plain(value: Any) -> Any:
    """A number with the fewest digits that give it back, nothing for what is missing."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    return value.item() if isinstance(value, np.generic) else value
