"""A figure's numbers as rows of a table: what its CSV holds, and what a screen reader may be given."""
from collections.abc import Mapping
from typing import Any

import numpy as np

from viz.figures.drawing import FigureSpec, without_markup


def figure_rows(drawn: FigureSpec) -> list[list[Any]]:
    """[series, x, y, value, label] with a header: one row a point; heatmaps have a value for each x and y, other traces
    none. Axes' names head x and y; the label is the name of the point, or of the cell's row and column."""
    titles = [without_markup(drawn.axis(f"{axis}axis").get("title", {}).get("text", "")) or axis for axis in "xy"]
    rows: list[list[Any]] = [["series", *titles, "value", "label"]]
    for number, trace in enumerate(drawn.traces):
        name = without_markup(trace.get("name") or f"series {number}")
        if trace["type"] == "heatmap":
            if trace.get("hoverinfo") != "skip":   # the clear one over another has its words only
                rows += _cell_rows(name, trace, [drawn.axis(f"{axis}axis") for axis in "xy"])
        elif trace.get("y") is not None:
            xs = trace["x"] if trace.get("x") is not None else range(len(trace["y"]))
            labels = _point_names(trace, len(trace["y"]))
            rows += [[name, _plain_number(x), _plain_number(y), "", label]
                     for x, y, label in zip(xs, trace["y"], labels, strict=True)]
    return rows


def _point_names(trace: Mapping[str, Any], count: int) -> list[str]:
    """The name of each point, in the trace's hover or beside its points; "" where it has none."""
    for texts in (trace.get(part) for part in ("hovertext", "customdata", "text")):
        if isinstance(texts, (list, tuple)) and len(texts) == count:
            firsts = [each[0] if isinstance(each, (list, tuple)) and each else each for each in texts]
            if all(isinstance(each, str) for each in firsts):
                return [without_markup(each) for each in firsts]
    return [""] * count


def _cell_rows(name: str, trace: Mapping[str, Any], axes: list[Mapping[str, Any]]) -> list[list[Any]]:
    numbers = np.asarray(trace["z"])
    xs, ys = (trace[axis] if trace.get(axis) is not None else range(numbers.shape["yx".index(axis)]) for axis in "xy")
    columns, rows = ([_tick(axis, place) for place in range(len(names))] for axis, names in zip(axes, (xs, ys)))
    return [[name, _plain_number(x), _plain_number(y), _plain_number(numbers[row, column]),
             f"{rows[row]} → {columns[column]}" if rows[row] or columns[column] else ""]
            for row, y in enumerate(ys) for column, x in enumerate(xs)]


def _tick(axis: Mapping[str, Any], place: int) -> str:
    """What is written at a place of an axis; "" where that is its number."""
    written = dict(zip(axis.get("tickvals", ()), axis.get("ticktext", ()))).get(place, "")
    return without_markup(axis.get("labelalias", {}).get(str(place), written))


def _plain_number(value: Any) -> Any:
    """A number with the fewest digits that give it back, nothing for what is missing."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    return value.item() if isinstance(value, np.generic) else value
