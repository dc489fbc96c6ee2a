"""The messages of the open head and of the grid, read back into what they show.

A message that comes from a file is nobody's word: it is read into `Shown` and `Overview`, whose parts are checked one
by one, and written anew by the component's own payload. So nothing reaches the browser's code that it was not written
for. """
from dataclasses import dataclass

import numpy as np

from model.core.displayed import MAX_UNPOOLED, AxisItem, DisplayedHead
from model.core.heads import Overview
from model.core.query import Kind
from model.core.view import LENSES, SCALES, View
from viz.components.head_grid import payload as grid_payload
from viz.components.head_view import payload as view_payload
from viz.components.head_view.payload import Guess
from viz.components.messages import NAN_CODE, unpack
from viz.components.token_labels import JOINED, SPECIAL, UNKNOWN
from viz.handout import parts
from viz.handout.validation import integer, number, require, safely, switch, text

HEADS, NOTES = 8, 12   # heads over one another; sentences of a picture
COVER = Guess("cover", marking=True, alone=True)
TALL = 480   # pixels: no head of a handout is smaller, whatever room its page had


@dataclass(frozen=True, eq=False)
class SavedHead:
    """An open head as it was shown: the heads over one another, the open one first, and how they are looked at. bound:
    the numbers are differences of two heads, from −bound to bound; NaN is what one of the two does not have. covered:
    to be predicted before it is shown."""

    pictures: tuple[DisplayedHead, ...]
    view: View
    height: int
    bound: float | None
    covered: bool


@dataclass(frozen=True, eq=False)
class SavedGrid:
    """All heads as they were shown. hover: numbers a head under the pointer; values: one number a head, drawn as its
    colour, and `of` what they are; by_value: the marks rank them."""

    overview: Overview
    groups: int
    height: int
    open_head: tuple[int, int]
    order: tuple[tuple[int, int], ...] | None
    marks: tuple[tuple[int, int, int], ...]
    hover: dict[str, dict[tuple[int, int], float]]
    values: dict[tuple[int, int], float]
    signed: bool
    bound: float | None
    of: str
    by_value: bool


def check_picture(kind: str, body: bytes, state: bytes, room: str, height: int | None = None) -> tuple[bytes, bytes]:
    """The two messages anew, for a room of this name and, if it is given, another height. Raises UserError if no
    payload of ours wrote them."""
    if kind == "head_view":
        head = head_of(body, state)
        first, view = head.pictures[0], head.view
        return (view_payload.body(first, room=room, overlay=head.pictures[1:], height=height or max(head.height, TALL),
                                  bound=head.bound),
                view_payload.state(first, view, room=room, focus=view.token, pair=view.pair,
                                   guess=COVER if head.covered else None))
    if kind in parts.PARTS:
        return parts.PARTS[kind](body, state).messages(room)
    grid = grid_of(body, state)
    return (grid_payload.body(grid.overview, room=room, groups=grid.groups, height=height or grid.height),
            grid_payload.state(grid.overview, room=room, open_head=grid.open_head, order=grid.order, marks=grid.marks,
                               hover=grid.hover, values=grid.values, signed=grid.signed, bound=grid.bound, of=grid.of,
                               by_value=grid.by_value))


def _units(axis: dict, count: int) -> tuple[AxisItem, ...]:
    texts, tokens, flags = axis["texts"], axis["tokens"], axis["flags"]
    require(len(texts) == len(tokens) == len(flags) == count and len(set(tokens)) == count)
    return tuple(AxisItem(text(said), (integer(token, 0, 10**7),), bool(flag & SPECIAL), bool(flag & UNKNOWN),
                          bool(flag & JOINED))
                 for said, token, flag in zip(texts, tokens, (integer(flag, 0, 7) for flag in flags), strict=True))


@safely
def head_of(body: bytes, state: bytes) -> SavedHead:
    """The open head of its two messages. Raises UserError if that is not what they are."""
    (said, arrays), (how, nothing) = unpack(body), unpack(state)
    codes = arrays["weights"]
    require(codes.dtype == np.uint16 and codes.ndim == 3 and codes.shape[0] <= HEADS and min(codes.shape) > 0
            and max(codes.shape) <= MAX_UNPOOLED)
    kind, rows = Kind(said["kind"]), _units(said["rows"], codes.shape[1])
    columns = rows if said["columns"] is None else _units(said["columns"], codes.shape[2])
    require(len(columns) == codes.shape[2] and len(said["heads"]) == codes.shape[0]
            and set(arrays) <= {"weights", "scores"} and not nothing)
    scores = _scores(arrays["scores"], codes.shape[1:], number(said["low"]),
                     number(said["high"])) if "scores" in arrays else None
    notes = tuple(text(note, 1000) for note in said["notes"][:NOTES])
    bound = None if said["bound"] is None else number(said["bound"])
    require(bound is None or bound > 0)
    weights = _weights(codes, bound, said["absent"])
    pictures = tuple(DisplayedHead(kind, integer(layer, 0, 9999), integer(head, 0, 9999), rows, columns, each, scores,
                                   notes)
                     for (layer, head), each in zip(said["heads"], weights, strict=True))
    return SavedHead(pictures, _view(pictures[0], how), integer(said["height"], 40, 4000), bound,
                     switch(how.get("marking", False)))


def _weights(codes: np.ndarray, bound: float | None, absent: list | None) -> np.ndarray:
    """The numbers behind root_codes, or behind signed_codes where there is a bound."""
    if bound is None:
        weights = np.square(codes / np.float32(65535), dtype=np.float32)
    else:
        sizes = np.maximum(codes.astype(np.int32) - 1, 0)
        weights = np.where(codes == 0, np.nan, np.where(sizes % 2, 1, -1) * (sizes // 2)
                           * (bound / 32766)).astype(np.float32)
        require(bool((np.abs(weights[codes > 0]) <= np.float32(bound) * 1.0001).all()))
    for axis, places in enumerate(absent or ()):
        for place in places:
            weights[(slice(None),) * (axis + 1) + (integer(place, 0, weights.shape[axis + 1] - 1),)] = np.nan
    return weights


def _scores(codes: np.ndarray, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    require(codes.dtype == np.uint16 and codes.shape == shape and low <= high)
    return np.where(codes == NAN_CODE, np.nan, low + codes * ((high - low) / (NAN_CODE - 1))).astype(np.float32)


def _view(shown: DisplayedHead, how: dict) -> View:
    require(how["lens"] in LENSES and how["scale"] in SCALES)
    rows, columns = ([unit.tokens[0] for unit in side] for side in (shown.rows, shown.columns))
    token = None if how["focus"] is None else rows[integer(how["focus"], 0, len(rows) - 1)]
    pair = how["pair"] and (rows[integer(how["pair"][0], 0, len(rows) - 1)],
                            columns[integer(how["pair"][1], 0, len(columns) - 1)])
    return View(kind=shown.kind, layer=shown.layer, head=shown.head, token=token, pair=pair or None, lens=how["lens"],
                scale=how["scale"], transpose=switch(how["transpose"]))


@safely
def grid_of(body: bytes, state: bytes) -> SavedGrid:
    """The grid of its two messages. Raises UserError if that is not what they are."""
    (said, arrays), (how, columns) = unpack(body), unpack(state)
    cells, counts = arrays["cells"], [integer(count, 0, 1024) for count in said["heads"]]
    layers = tuple(integer(layer, 0, 9999) for layer in said["layers"])
    require(cells.dtype == np.uint8 and cells.ndim == 3 and min(cells.shape) > 0 and max(cells.shape[1:]) <= 64
            and cells.shape[0] <= 16_384)
    require(len(layers) == len(counts) == len(set(layers)) and sum(counts) == cells.shape[0] > 0)
    rows, wide = said["pool"]
    overview = Overview(Kind.SELF, layers, tuple(np.split(cells, np.cumsum(counts)[:-1])),
                        (integer(rows, 1, 10**6), integer(wide, 1, 10**6)))
    every = grid_payload.head_ids(overview)

    def column(numbers: np.ndarray) -> dict[tuple[int, int], float]:
        return {place: float(number) for place, number in zip(every, numbers, strict=True) if np.isfinite(number)}

    order = None if how["order"] is None else tuple(every[integer(at, 0, len(every) - 1)] for at in how["order"])
    hover = {text(name): column(_scores(codes, (len(every),), number(low), number(high)))
             for (name, low, high), codes in zip(how.get("hover", []), columns.get("hover_codes", []), strict=True)}
    marks = tuple((*every[integer(at, 0, len(every) - 1)], integer(rank, 0, 9999)) for at, rank in how["marks"])
    values = column(columns["values"]) if "values" in columns else {}
    return SavedGrid(overview, integer(said["groups"], 1, 1024), integer(said["height"], 40, 4000),
                     every[integer(how["open"], 0, len(every) - 1)] if how["open"] is not None else (-1, -1), order,
                     marks, hover, values, switch(how["signed"]),
                     None if how["bound"] is None else number(how["bound"]), text(how.get("of", "")),
                     switch(how.get("by_value", False)))   # not in what an earlier Clearhead saved
