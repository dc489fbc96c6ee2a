"""The values that an entry of a handout can hold besides pictures (viz/components/picture.py): a chart, a table, words.
All are validated when they are made; `read` makes them, and pictures, from a stranger's file.
"""
import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.pictures import decode
from clearhead.model.core.query import UserError, frozen
from clearhead.viz.components.picture import Grid, Head, Image, require

if TYPE_CHECKING:
    from pandas import DataFrame

BROKEN = "A figure in this handout is damaged; remove it, or save the handout again."
FOREIGN = "A chart in this handout was not drawn by Clearhead; remove it, or save the handout again."
DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError, MemoryError)
TOO_LARGE = 1e30   # bound of any number in an array, far above what is measured and far below the limit of float32
TRACES = ("scatter", "bar", "heatmap")
MOST_CHOICES = 9   # of a question: the digit keys count raised hands
LAYOUT = frozenset({
    "height", "paper_bgcolor", "plot_bgcolor", "font", "margin", "hoverlabel", "title", "legend", "dragmode",
    "hovermode", "barcornerradius", "shapes", "annotations", "barmode", "bargap", "bargroupgap", "showlegend",
    "uniformtext", *(f"{axis}axis{number}" for axis in "xy" for number in ("", 2, 3, 4))})


@frozen
class Chart:
    """A chart as plotly's JSON. plotly would draw anything in it, including remote pictures and maps, so only trace
    types and layout parts of this project are accepted, and plotly validates all properties. Raises UserError for any
    other."""

    spec: str

    component = "chart"

    def __post_init__(self) -> None:
        from plotly.graph_objects import Figure

        LIMITS.refuse_above("chart_bytes", len(self.spec), "A chart of this handout", "take it out")
        try:
            figure = parse_json(self.spec.encode(), "A chart of this handout")
            require(set(figure) == {"data", "layout"} and set(figure["layout"]) <= LAYOUT)
            require(all(trace["type"] in TRACES for trace in figure["data"]))
            # no links, and nothing from elsewhere
            require(not any("<a" in text.lower() or "url(" in text.lower() for text in _texts_in(figure)))
            Figure(data=figure["data"], layout=figure["layout"] | {"template": "none"})
        except DAMAGE as error:
            raise UserError(FOREIGN) from error


@frozen
class Table:
    """The cells of a table, without its index. Raises UserError if it is too large, ValueError for uneven rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | bool | int | float | None, ...], ...]

    component = "table"

    def __post_init__(self) -> None:
        texts = [*self.columns, *(cell for row in self.rows for cell in row if isinstance(cell, str))]
        LIMITS.refuse_above("table_bytes", sum(map(len, texts)) + 8 * len(self.rows) * len(self.columns),
                            "A table of this handout", "take it out")
        require(0 < len(set(self.columns)) == len(self.columns) <= LIMITS.table_columns)
        require(0 < len(self.rows) <= LIMITS.table_rows)
        require(all(len(row) == len(self.columns) for row in self.rows))
        require(all(math.isfinite(cell) for row in self.rows for cell in row if isinstance(cell, float)))

    def frame(self) -> "DataFrame":
        """Return the table with unconverted cells."""
        from pandas import DataFrame

        return DataFrame(self.rows, columns=list(self.columns), dtype=object)


@frozen
class Words:
    """An entry without a figure: a text, a question with its answer, or the screen of a page with its title."""

    component: str   # one of SPOKEN
    title: str = ""
    answer: str = ""
    choices: tuple[str, ...] = ()   # of a question
    # what the link of a screen cannot hold: the revision of its model, the texts that are too long, by short name, and
    # the visitor's own picture, PNG in base64
    revision: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    picture: str = ""

    def __post_init__(self) -> None:
        require(self.component in SPOKEN and len(self.choices) <= MOST_CHOICES)
        require(all(len(text) <= LIMITS.longest_text for _, text in self.texts))
        require(max(map(len, (self.title, self.answer, self.revision, *self.choices))) <= LIMITS.handout_text)
        if self.picture:
            decode(base64.b64decode(self.picture, validate=True), "The picture of a screen")


SPOKEN = ("screen", "text", "question")   # a screen shows the page in its link
Value = Head | Grid | Image | Chart | Table | Words
VALUES: dict[str, type[Value]] = {made.component: made for made in (Head, Grid, Image, Chart, Table)}
VALUES |= dict.fromkeys(SPOKEN, Words)


def plain(value: object) -> object:
    """Return a value as JSON: arrays in base64, mappings as pairs."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False)
        return {"array": value.dtype.name, "shape": value.shape, "data": base64.b64encode(little.tobytes()).decode()}
    if isinstance(value, Mapping):
        return {"pairs": [[plain(key), plain(each)] for key, each in value.items()]}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def array_or_pairs(given: dict[str, Any]) -> object:
    """Return what `plain` wrote as an object: an array of finite numbers and NaN, a mapping, or the object itself."""
    if given.keys() == {"pairs"}:
        return {tuple(key): each for key, each in given["pairs"]}
    if given.keys() != {"array", "shape", "data"}:
        return given
    require(given["array"] in ("uint8", "float32"))
    kind = np.dtype(given["array"])
    array = np.frombuffer(base64.b64decode(given["data"], validate=True), kind.newbyteorder("<")).astype(kind)
    require(array.size > 0 and not (np.abs(array) > TOO_LARGE).any())
    return array.reshape(given["shape"])


def read(component: str, given: object) -> Value:
    """Return the value of this component from JSON, after `array_or_pairs`. Raises UserError if it is damaged."""
    from pydantic import TypeAdapter  # the first page does not need it

    if component not in VALUES:
        raise UserError("This handout contains a figure that this version of Clearhead cannot draw; save it again with "
                        "the version that made it.")
    try:
        require(component in ("chart", "screen") or all(len(text) <= LIMITS.handout_text for text in _texts_in(given)))
        made: Value = TypeAdapter(VALUES[component]).validate_python(given)
        require(made.component == component)
    except DAMAGE as error:
        raise UserError(BROKEN) from error
    return made


def _texts_in(value: object) -> Iterator[str]:
    """Yield all texts in JSON."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts_in(part)
