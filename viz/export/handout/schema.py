"""Validate the untrusted figures of a handout, with one schema per kind of figure.

`checked` is called once per figure, when its bytes enter a handout from the page or a file. It keeps only fields of the
schema and adds the app's colours and texts.
"""
import json
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.view import LENSES, MAX_UNPOOLED, SCALES
from clearhead.viz.components import head_grid as grid
from clearhead.viz.components import head_view as head
from clearhead.viz.components import picture_view as picture
from clearhead.viz.components.component import message
from clearhead.viz.components.messages import unpack

BROKEN = "A figure in this handout is damaged; remove it, or save the handout again."
FOREIGN = "A chart in this handout was not drawn by Clearhead; remove it, or save the handout again."
PIXELS = 2048   # largest side of a picture
TALL = 480      # smallest height of a head in pixels, however small it was on its page
TRACES = ("scatter", "bar", "heatmap")
LAYOUT = frozenset({
    "height", "paper_bgcolor", "plot_bgcolor", "font", "margin", "hoverlabel", "title", "legend", "dragmode",
    "hovermode", "barcornerradius", "shapes", "annotations", "barmode", "bargap", "bargroupgap", "showlegend",
    "uniformtext", *(f"{axis}axis{number}" for axis in "xy" for number in ("", 2, 3, 4))})
Arrays = Mapping[str, np.ndarray]
Own = dict[str, dict[str, object]]   # the parts of body and state that the app supplies


def require(true: bool) -> None:
    """Raise ValueError if the condition is false."""
    if not true:
        raise ValueError("not what a payload writes")


def _have(arrays: Arrays, optional: Collection[str] = (), **wanted: tuple[str, tuple[int, ...]]) -> None:
    """Raise ValueError unless the arrays match `wanted`, {name: (type, shape)}, and none is empty or infinite."""
    require(wanted.keys() - set(optional) <= arrays.keys() <= wanted.keys())
    for name, array in arrays.items():
        require((array.dtype.name, array.shape) == wanted[name] and array.size > 0 and not np.isinf(array).any())


def _short(value: str) -> str:
    require(len(value) <= LIMITS.handout_text)
    return value


def _one_of(known: Collection[str]) -> AfterValidator:
    def check(value: str) -> str:
        require(value in known)
        return value
    return AfterValidator(check)


Text = Annotated[str, AfterValidator(_short)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0, le=10**7)]
Size = Annotated[int, Field(strict=True, ge=1, le=1024)]
Height = Annotated[int, Field(strict=True, ge=40, le=4000)]


class Axis(BaseModel):
    """The tokens of the rows or columns."""

    texts: list[Text]
    tokens: list[Count]
    flags: list[Annotated[int, Field(strict=True, ge=0, le=7)]]

    def names(self, count: int) -> bool:
        """Return whether there are `count` distinct tokens."""
        return len(self.texts) == len(self.flags) == len(self.tokens) == len(set(self.tokens)) == count


class HeadBody(BaseModel):
    """The open head and overlaid heads, with their tokens. The arrays are encoded weights and scores."""

    kind: Annotated[str, AfterValidator(lambda name: Kind(name).value)]
    heads: Annotated[list[tuple[Count, Count]], Field(min_length=1, max_length=8)]
    rows: Axis
    columns: Axis | None
    sums: StrictBool = False
    bound: Positive | None
    absent: tuple[list[Count], list[Count]] | None
    blind: list[Count] = []
    notes: Annotated[list[Text], Field(max_length=12)]
    height: Height
    low: Number = 0.0
    high: Number = 0.0


class HeadState(BaseModel):
    """How a head is viewed. marking: the head is covered until the reader has predicted it."""

    lens: Annotated[str, _one_of(LENSES)]
    scale: Annotated[str, _one_of(SCALES)]
    transpose: StrictBool
    focus: Count | None
    pair: tuple[Count, Count] | None
    marking: StrictBool = False


def _head(body: HeadBody, arrays: Arrays, state: HeadState, more: Arrays) -> Own:
    count, rows, columns = arrays["weights"].shape
    _have(arrays, ("scores",), weights=("uint16", (count, rows, columns)), scores=("uint16", (rows, columns)))
    _have(more)
    require(max(rows, columns) <= MAX_UNPOOLED and len(body.heads) == count and body.low <= body.high)
    require(body.rows.names(rows) and (body.columns or body.rows).names(columns))
    (down, across), pair = body.absent or ([], []), state.pair or (0, 0)
    require(max(*body.blind, *down, state.focus or 0, pair[0]) < rows and max(*across, pair[1], 0) < columns)
    cover: dict[str, object] = {"round": "cover" if state.marking else "", "alone": state.marking, "marks": [],
                                "why_scale": ""}
    return {"body": head.own_constants(body.bound) | {"height": max(body.height, TALL)}, "state": cover}


class GridBody(BaseModel):
    """All heads with their layers. The arrays are a thumbnail per head and optionally the picture behind them."""

    layers: list[Count]
    heads: list[Annotated[int, Field(strict=True, ge=0, le=1024)]]
    pool: tuple[Annotated[int, Field(strict=True, ge=1, le=10**6)], Annotated[int, Field(strict=True, ge=1, le=10**6)]]
    groups: Size
    height: Height
    masked_out: list[Count] = []
    opacity: Share = 0.8
    most: Annotated[float, Field(strict=True, ge=1.001, le=1e6)] = 2.0
    covered: tuple[Annotated[Share, Field(gt=0)], Annotated[Share, Field(gt=0)]] = (1.0, 1.0)


class GridState(BaseModel):
    """The open head, the heads' order and badges. The array is a number per head."""

    open: Count | None
    order: list[Count] | None
    marks: list[tuple[Count, Count]]
    signed: StrictBool
    bound: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)] | None
    of: Text = ""
    by_value: StrictBool = False


def _grid(body: GridBody, arrays: Arrays, state: GridState, more: Arrays) -> Own:
    count, (_, high, wide) = sum(body.heads), arrays["cells"].shape
    _have(arrays, ("picture",), cells=("uint8", (count, high, wide)), picture=_pixels(arrays, grid.SMALL))
    _have(more, ("values",), values=("float32", (count,)))
    require(max(high, wide) <= 64 and count <= 16_384)
    require(len(body.layers) == len(body.heads) == len(set(body.layers)))
    require(max(state.open or 0, *(state.order or ()), *(mark for mark, _ in state.marks), *body.masked_out, 0) < count)
    numbers = {(0, at): number for at, number in enumerate(more["values"].tolist())} if more else {}
    values = grid.HeadValues(numbers, state.of, state.signed, state.bound, state.by_value)
    return {"body": grid.own_constants(body.pool, body.most if "picture" in arrays else None) | {"silence": False},
            "state": grid.derived(values)}


def _pixels(arrays: Arrays, most: int) -> tuple[str, tuple[int, ...]]:
    """Return the type and shape that the array "picture" must have, at most `most` pixels per side."""
    high, wide = arrays["picture"].shape[:2] if "picture" in arrays else (1, 1)
    return "uint8", (min(high, most), min(wide, most), 3)


class PictureBody(BaseModel):
    """A picture and its patches. The arrays are the pixels and the tokens' boxes."""

    texts: list[Text]
    places: list[Annotated[int, Field(strict=True, ge=-1, lt=1024**2)]]
    grid: tuple[Size, Size]
    label: Text
    height: Height


class PictureState(BaseModel):
    """The colouring and the selection. The array is a number per token."""

    name: Text
    what: Text
    kind: Annotated[str, _one_of(picture.KINDS)]
    even: Annotated[float, Field(strict=True, ge=1e-9, le=1)] | None
    low: Number
    high: Number
    focus: Count | None
    opacity: Share
    hidden: list[Count]
    outlined: list[Count]
    says: Text


def _picture(body: PictureBody, arrays: Arrays, state: PictureState, more: Arrays) -> Own:
    count = len(body.texts)
    _have(arrays, picture=_pixels(arrays, PIXELS), boxes=("float32", (count, 4)))
    _have(more, values=("float32", (count,)))
    require(len(body.places) == count <= LIMITS.tokens and max(body.places) < body.grid[0] * body.grid[1])
    require(max(state.focus or 0, *state.hidden, *state.outlined, 0) < count)
    patches = arrays["boxes"][np.array(body.places) >= 0]
    require(bool(len(patches) and (patches >= 0).all() and (patches <= 1).all()
                 and (patches[:, :2] < patches[:, 2:]).all()))
    require((state.kind == "weight") == (state.even is not None))
    require(state.high > (1 if state.kind == "weight" else state.low if state.kind == "plain" else 0))
    drawn = picture.PatchValues(more["values"], state.name, state.what, state.kind, state.even, state.low, state.high)
    return {"body": picture.own_constants() | {"frozen": True},
            "state": picture.derived(body.texts, drawn, state.focus, state.hidden, state.says)}


class Schema(NamedTuple):
    """The schema of a kind of figure: its two headers, and a function that validates them with their arrays and returns
    the parts that the app supplies."""

    body: type[BaseModel]
    state: type[BaseModel]
    own: Callable[..., Own]


COMPONENTS = {
    "head_view": Schema(HeadBody, HeadState, _head), "head_grid": Schema(GridBody, GridState, _grid),
    "picture_view": Schema(PictureBody, PictureState, _picture)}


class Said(BaseModel):
    """An entry without a figure: its title, its minutes, and the answer to a question."""

    title: Text = ""
    minutes: Annotated[int, Field(strict=True, ge=0, le=999)] = 0
    answer: Text = ""


class Table(BaseModel):
    """The cells of a table, without its index."""

    columns: Annotated[list[Text], Field(min_length=1, max_length=LIMITS.table_columns)]
    rows: Annotated[list[list[StrictStr | StrictBool | StrictInt | StrictFloat | None]],
                    Field(min_length=1, max_length=LIMITS.table_rows)]


def checked(kind: str, body: bytes, state: bytes, room: str) -> tuple[bytes, bytes]:
    """Validate a figure and return its two messages. room: the key in the messages. Raises UserError for invalid
    content."""
    try:
        if kind == "chart":
            return _chart(body), b""
        if kind == "table":
            return _table(body), b""
        if kind == "words":
            return Said.model_validate(parse_json(body, "An entry of this list")).model_dump_json().encode(), b""
        schema = COMPONENTS[kind]
        (header, arrays), (how, more) = unpack(body), unpack(state)
        first, second = schema.body.model_validate(header), schema.state.model_validate(how)
        own = schema.own(first, arrays, second, more)
        return (message("body", room, first.model_dump() | own["body"], arrays),
                message("state", room, second.model_dump() | own["state"], more))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError,
            MemoryError) as error:
        raise UserError(FOREIGN if kind == "chart" else BROKEN) from error


def _chart(body: bytes) -> bytes:
    """Validate a chart. plotly would draw anything in a specification, including remote pictures and maps, so only
    trace types and layout parts of this project are accepted, and plotly validates all properties."""
    from plotly.graph_objects import Figure

    LIMITS.refuse_above("chart_bytes", len(body), "A chart of this handout", "take it out")
    figure = parse_json(body, "A chart of this handout")
    require(set(figure) == {"data", "layout"} and set(figure["layout"]) <= LAYOUT and not _leads_away(figure))
    require(all(trace["type"] in TRACES for trace in figure["data"]))
    Figure(data=figure["data"], layout=figure["layout"] | {"template": "none"})
    return body


def _leads_away(value: Any) -> bool:
    """Return whether any string in the value contains a link or refers to an external resource."""
    if isinstance(value, str):
        return "<a" in value.lower() or "url(" in value.lower()
    parts = value.values() if isinstance(value, dict) else value
    return isinstance(value, (dict, list)) and any(map(_leads_away, parts))


def _table(body: bytes) -> bytes:
    LIMITS.refuse_above("table_bytes", len(body), "A table of this handout", "take it out")
    table = Table.model_validate(parse_json(body, "A table of this handout"))
    require(len(set(table.columns)) == len(table.columns)
            and all(len(row) == len(table.columns) for row in table.rows))
    return json.dumps(table.model_dump(), allow_nan=False, separators=(",", ":")).encode("ascii")
