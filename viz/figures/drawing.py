"""Build figures as plain dictionaries in plotly's vocabulary, and return their numbers as table rows.

plotly's Figure validates every property on each change, which takes tens of milliseconds per figure and would delay
pages with several figures. Figures are therefore built without validation; the tests validate every figure with
plotly.
"""
import base64
import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearhead.viz.style.format import visible_token
from clearhead.viz.style.theme import DARK, luminance, rgb

# properties whose strings appear in the drawing
TEXTS = frozenset({"text", "hovertext", "customdata", "ticktext", "labelalias", "name"})
COLOUR = re.compile("#[0-9a-f]{6}")
BLACK, WHITE = "#000000", "#ffffff"   # the page's text colour is too pale on cells in the middle of the ramp
EVEN = (1.05 * 0.05) ** 0.5 - 0.05    # luminance on which black and white have the same contrast, 4.6 : 1 (WCAG 2.2)
CLEAR = [(0, "rgba(0,0,0,0)"), (1, "rgba(0,0,0,0)")]
BLANK = "\u2007"                      # a space with the width of a digit
# conversions of types that browser arrays do not support
NARROW = {np.dtype(np.int64): np.int32, np.dtype(np.uint64): np.uint32, np.dtype(np.float16): np.float32}


class Markup(str):
    """Text with plotly's tags. All other strings in a figure are drawn literally."""

    __slots__ = ()


def plain(text: str) -> Markup:
    """Escape text so that plotly draws it literally, without tags, entities or formulas and with all characters
    visible."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(visible_token(text) if text else "", quote=False).replace("$", "&#36;"))


def markup(template: str, **fields: object) -> Markup:
    """Fill in a template that contains plotly tags; strings in `fields` are drawn literally."""
    return Markup(template.format(**{name: plain(value) if isinstance(value, str) else value
                                     for name, value in fields.items()}))


def without_markup(text: str) -> str:
    """Return the text that plotly would draw for a string, on one line."""
    return html.unescape(re.sub("<[^>]*>", " ", text)).strip() if isinstance(text, Markup) else text


class FigureSpec:
    """Traces and a layout. As in plotly's Figure, updates are merged, and None is ignored. Strings are drawn literally
    unless they are `Markup`."""

    def __init__(self, **layout: object) -> None:
        self._traces: list[dict] = []
        self._layout: dict = {}
        self.update_layout(**layout)

    def _add(self, kind: str, properties: Mapping[str, object]) -> None:
        self._traces.append(_merged({"type": kind}, properties))

    def add_scatter(self, **properties: object) -> None:
        """Add points or a line."""
        self._add("scatter", properties)

    def add_line(self, x: Sequence[float | None] | np.ndarray, y: Sequence[float | None] | np.ndarray, colour: str,
                 width: float = 2, dash: str | None = None, **properties: object) -> None:
        """Add a line, which has a tooltip only if it has a hovertemplate."""
        skipped = {} if "hovertemplate" in properties else {"hoverinfo": "skip"}
        self.add_scatter(x=x, y=y, mode="lines", line={"color": colour, "width": width, "dash": dash},
                         **skipped | properties)

    def add_bar(self, **properties: object) -> None:
        """Add bars."""
        self._add("bar", properties)

    def add_heatmap(self, texts: Sequence[Sequence[str]] | None = None, **properties: object) -> None:
        """Add a colour matrix. texts: the text in each cell, which needs the properties zmin and zmax."""
        written = {} if texts is None else {"xgap": 1, "ygap": 1, "text": texts, "texttemplate": "%{text}"}
        self._add("heatmap", properties | written)

    def add_annotation(self, **properties: object) -> None:
        """Add text at a position, without an arrow unless `showarrow`."""
        self._layout.setdefault("annotations", []).append(_merged({"showarrow": False}, properties))

    def add_shape(self, **properties: object) -> None:
        """Add a line or a rectangle."""
        self._layout.setdefault("shapes", []).append(_merged({}, properties))

    def add_rule(self, colour: str, width: float = 1, dash: str | None = None, *, x: float | None = None,
                 y: float | None = None) -> None:
        """Add a line through the whole plot: vertical at x, or horizontal at y."""
        ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y} if x is None else {
            "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
        self.add_shape(type="line", line={"color": colour, "width": width, "dash": dash}, **ends)

    def add_band(self, x0: float, x1: float, colour: str, opacity: float) -> None:
        """Shade the plot from x0 to x1, behind everything else."""
        self.add_shape(type="rect", x0=x0, x1=x1, yref="paper", y0=0, y1=1, line={"width": 0},
                       fillcolor=colour, opacity=opacity, layer="below")

    def update_layout(self, **properties: object) -> None:
        """Change properties of the layout."""
        _merged(self._layout, properties)

    def update_xaxes(self, **properties: object) -> None:
        """Change properties of the x axis."""
        self.update_layout(xaxis=properties)

    def update_yaxes(self, **properties: object) -> None:
        """Change properties of the y axis."""
        self.update_layout(yaxis=properties)

    def name_rows(self, names: Sequence[str], **properties: object) -> None:
        """Name the positions 0, 1, … of the y axis, and change its other properties."""
        self.update_yaxes(tickvals=list(range(len(names))), ticktext=list(names), showgrid=False, **properties)

    def update_axes(self, **properties: object) -> None:
        """Change properties of both axes."""
        self.update_layout(xaxis=properties, yaxis=properties)

    @property
    def traces(self) -> list[dict]:
        """The traces as added, with unescaped strings."""
        return self._traces

    def __len__(self) -> int:
        """Return the number of traces."""
        return len(self._traces)

    def axis(self, name: str) -> Mapping[str, Any]:
        """Return the settings of "xaxis" or "yaxis" so far."""
        return self._layout.get(name, {})

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y (point) of all finite points in traces with both coordinates, as logarithms for logarithmic
        axes."""
        both = [np.broadcast_arrays(*(np.asarray(trace[name], np.float64) for name in "xy")) for trace in self._traces
                if {"x", "y"} <= trace.keys()]
        coordinates = np.concatenate([np.stack(pair) for pair in both], axis=1) if both else np.zeros((2, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = (np.log10(values) if self.axis(f"{name}axis").get("type") == "log" else values
                    for name, values in zip("xy", coordinates, strict=True))
        finite = np.isfinite(x) & np.isfinite(y)
        return x[finite], y[finite]

    def span(self, name: str) -> tuple[float, float]:
        """Return the start and end of the axis "x" or "y": its fixed range, or the range of the points."""
        limits, points = self.axis(f"{name}axis").get("range"), self.points()["xy".index(name)]
        low, high = limits or (points.min(initial=np.inf), points.max(initial=-np.inf))
        return float(low), float(high)

    @property
    def height(self) -> float:
        """Height in pixels."""
        return self._layout["height"]

    @property
    def margin(self) -> Mapping[str, float]:
        """Margins in pixels: l, r, t and b."""
        return self._layout["margin"]

    def drawn(self, theme: str = "light") -> dict:
        """Return what plotly draws on a page of this theme, "light" or "dark": {"data", "layout"}."""
        whole = _drawn({"data": self._traces, "layout": self._layout}, theme == "dark")
        return whole | {"data": [part for trace in whole["data"] for part in _legible(trace)]}

    def to_plotly_json(self, theme: str = "light") -> dict:
        """Return the JSON for the browser, with arrays as base64 and matrices in float32. theme: as in `drawn`."""
        sent: dict = _sent(self.drawn(theme))
        return sent


def _merged(into: dict, more: Mapping[str, object]) -> dict:
    """Merge more properties into a tree, ignoring None, and return the tree."""
    for name, value in more.items():
        if isinstance(value, dict):
            _merged(into.setdefault(name, {}), value)
        elif value is not None:
            into[name] = value
    return into


def _drawn(value: object, dark: bool, text: bool = False) -> Any:
    """Return the value with all drawn strings escaped, and with the colours of a dark page if it is `dark`."""
    if isinstance(value, dict):
        return {name: _drawn(each, dark, text or name in TEXTS) for name, each in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [_drawn(each, dark, text) for each in value]
    if not isinstance(value, str):
        return value
    if text:
        return plain(value)
    return COLOUR.sub(lambda found: DARK.get(found[0], found[0]), value) if dark else value


def _legible(trace: dict) -> list[dict]:
    """Return a trace as plotly draws it: the text of a heatmap has a single colour, so black text is drawn by a second,
    transparent heatmap."""
    if trace["type"] != "heatmap" or "text" not in trace:
        return [trace]
    low, high = trace["zmin"], trace["zmax"]
    shares = (np.nan_to_num(trace["z"], nan=low) - low) / (high - low)
    places, stops = zip(*trace["colorscale"], strict=True)
    dark = luminance(np.stack([np.interp(shares, places, channel)
                               for channel in np.array([*map(rgb, stops)]).T], -1)) < EVEN
    over = {name: trace[name] for name in ("type", "xgap", "ygap", "texttemplate")} | {
        "z": np.zeros(shares.shape, np.int8), "colorscale": CLEAR, "showscale": False, "hoverinfo": "skip"}
    return [each | {"text": _those(trace["text"], mask), "textfont": {"color": ink}}
            for each, mask, ink in ((trace, dark, WHITE), (over, ~dark, BLACK))]


def _those(texts: Sequence[Sequence[str]], mask: np.ndarray) -> list[list[str]]:
    """Return the texts of the cells in `mask`, and "" for other cells. plotly chooses the font size by the longest text
    and the neighbouring cells; blanks in the corner give both heatmaps the same size."""
    longest = max((len(text) for row in texts for text in row), default=0)
    masked = [[text if keep else "" for text, keep in zip(row, keeps, strict=True)]
              for row, keeps in zip(texts, mask, strict=True)]
    for row, column in ((0, 0), (0, 1), (1, 0)):
        if row < len(masked) and column < len(masked[0]):
            masked[row][column] = masked[row][column] or BLANK * longest
    return masked


def _sent(value: object) -> Any:
    if isinstance(value, dict):
        return {name: _sent(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_sent(each) for each in value]
    if isinstance(value, np.ndarray):
        return _packed(value)
    return value.item() if isinstance(value, np.generic) else value


def _packed(array: np.ndarray) -> object:
    """Return plotly's typed array, {"dtype", "bdata", "shape"}; strings and booleans as a list."""
    if array.dtype.kind not in "iuf" or not array.size:
        return array.tolist()
    array = array.astype(np.float32 if array.ndim > 1 and array.dtype.kind == "f"
                         else NARROW.get(array.dtype, array.dtype), copy=False)
    packed = {"dtype": array.dtype.str[1:], "bdata": base64.b64encode(np.ascontiguousarray(array).data).decode("ascii")}
    return packed | {"shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else packed


def figure_rows(drawn: FigureSpec) -> list[list]:
    """Return a header and one row [series, x, y, value, label] per point or heatmap cell. Only heatmap cells have a
    value. The x and y columns are named after the axes; the label names the point, or the cell's row and column."""
    titles = [without_markup(drawn.axis(f"{axis}axis").get("title", {}).get("text", "")) or axis for axis in "xy"]
    rows: list[list] = [["series", *titles, "value", "label"]]
    for number, trace in enumerate(drawn.traces):
        name = without_markup(trace.get("name") or f"series {number}")
        if trace["type"] == "heatmap":
            rows += _cell_rows(name, trace, [drawn.axis(f"{axis}axis") for axis in "xy"])
        elif trace.get("y") is not None:
            xs = trace["x"] if trace.get("x") is not None else range(len(trace["y"]))
            labels = _point_names(trace, len(trace["y"]))
            rows += [[name, _plain_number(x), _plain_number(y), "", label]
                     for x, y, label in zip(xs, trace["y"], labels, strict=True)]
    return rows


def _point_names(trace: Mapping[str, Any], count: int) -> list[str]:
    """Return each point's name, from the trace's hover text or labels, or "" if it has none."""
    for texts in (trace.get(part) for part in ("hovertext", "customdata", "text")):
        if isinstance(texts, (list, tuple)) and len(texts) == count:
            firsts = [each[0] if isinstance(each, (list, tuple)) and each else each for each in texts]
            if all(isinstance(each, str) for each in firsts):
                return [without_markup(each) for each in firsts]
    return [""] * count


def _cell_rows(name: str, trace: Mapping[str, Any], axes: list[Mapping[str, Any]]) -> list[list]:
    numbers = np.asarray(trace["z"])
    xs, ys = (trace[axis] if trace.get(axis) is not None else range(numbers.shape["yx".index(axis)]) for axis in "xy")
    columns, rows = ([_tick(axis, place) for place in range(len(names))] for axis, names in zip(axes, (xs, ys)))
    return [[name, _plain_number(x), _plain_number(y), _plain_number(numbers[row, column]),
             f"{rows[row]} → {columns[column]}" if rows[row] or columns[column] else ""]
            for row, y in enumerate(ys) for column, x in enumerate(xs)]


def _tick(axis: Mapping[str, Any], place: int) -> str:
    """Return the label at a position of an axis, or "" if it is a number."""
    written = dict(zip(axis.get("tickvals", ()), axis.get("ticktext", ()))).get(place, "")
    return without_markup(axis.get("labelalias", {}).get(str(place), written))


def _plain_number(value: object) -> object:
    """Return the number as a Python number, or "" if it is missing."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    return value.item() if isinstance(value, np.generic) else value
