"""The messages of the open head and of the grid, read back into what they show.

A message that comes from a file is not trusted: it is read into `DisplayedHead` and `Overview`, whose parts are checked
one by one, and written anew by the component's own payload. So nothing reaches the browser's code that it was not
written for. """
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core.heads import Overview
from model.core.query import Kind
from model.core.types import HeadId
from model.core.view import LENSES, MAX_UNPOOLED, SCALES, AxisItem, DisplayedHead, View
from viz.components.head_grid import payload as grid_payload
from viz.components.head_grid.payload import GridPicture, GridState, HeadValues
from viz.components.head_view import payload as view_payload
from viz.components.head_view.payload import Guess
from viz.components.messages import NAN_CODE, unpack
from viz.components.picture_view.payload import LOOKS
from viz.components.token_labels import JOINED, SPECIAL, UNKNOWN
from viz.handout import parts
from viz.handout.patches import between, picture_pixels
from viz.handout.validation import integer, number, require, safely, switch, text

HEADS, NOTES = 8, 12   # heads over one another; sentences of a picture
COVER = Guess("cover", marking=True, alone=True)
TALL = 480   # pixels: no head of a handout is smaller, whatever room its page had


@dataclass(frozen=True, eq=False)
class SavedHead:
    """An open head as it was shown."""

    pictures: tuple[DisplayedHead, ...]   # the heads over one another, the open one first
    view: View                            # how they are looked at
    height: int                           # pixels
    bound: float | None                   # of differences of two heads, from −bound to bound; NaN: one lacks the token
    covered: bool                         # to be predicted before it is shown


@dataclass(frozen=True, eq=False)
class SavedGrid:
    """All heads as they were shown."""

    overview: Overview
    heads_per_kv: int   # query heads that share a key head
    height: int         # pixels
    state: GridState
    behind: GridPicture | None = None   # the picture that the thumbnails lie on


def check_picture(kind: str, body: bytes, state: bytes, room: str, height: int | None = None) -> tuple[bytes, bytes]:
    """The two messages anew, for a room of this name and, if it is given, another height. Raises UserError if no
    payload of ours wrote them."""
    if kind == "head_view":
        head = head_of(body, state)
        first = head.pictures[0]
        return (view_payload.body(first, room=room, overlay=head.pictures[1:], height=height or max(head.height, TALL),
                                  bound=head.bound),
                view_payload.state(first, head.view, room=room, guess=COVER if head.covered else None))
    if kind in parts.PARTS:
        return parts.PARTS[kind](body, state).messages(room)
    grid = grid_of(body, state)
    return (grid_payload.body(grid.overview, room=room, heads_per_kv=grid.heads_per_kv, height=height or grid.height,
                              behind=grid.behind),
            grid_payload.state(grid.overview, grid.state, room=room))


def _units(axis: dict, count: int) -> tuple[AxisItem, ...]:
    texts, tokens, flags = axis["texts"], axis["tokens"], axis["flags"]
    require(len(texts) == len(tokens) == len(flags) == count and len(set(tokens)) == count)
    return tuple(AxisItem(text(word), (integer(token, 0, 10**7),), bool(flag & SPECIAL), bool(flag & UNKNOWN),
                          bool(flag & JOINED))
                 for word, token, flag in zip(texts, tokens, (integer(flag, 0, 7) for flag in flags), strict=True))


@safely
def head_of(body: bytes, state: bytes) -> SavedHead:
    """The open head of its two messages. Raises UserError if that is not what they are."""
    (header, arrays), (how, nothing) = unpack(body), unpack(state)
    codes = arrays["weights"]
    require(codes.dtype == np.uint16 and codes.ndim == 3 and codes.shape[0] <= HEADS and min(codes.shape) > 0
            and max(codes.shape) <= MAX_UNPOOLED)
    kind, rows = Kind(header["kind"]), _units(header["rows"], codes.shape[1])
    columns = rows if header["columns"] is None else _units(header["columns"], codes.shape[2])
    require(len(columns) == codes.shape[2] and len(header["heads"]) == codes.shape[0]
            and set(arrays) <= {"weights", "scores"} and not nothing)
    scores = _scores(arrays["scores"], codes.shape[1:], number(header["low"]),
                     number(header["high"])) if "scores" in arrays else None
    notes = tuple(text(note, 1000) for note in header["notes"][:NOTES])
    blind = tuple(integer(row, 0, len(rows) - 1) for row in header.get("blind", ()))   # older files have none
    bound = None if header["bound"] is None else number(header["bound"])
    require(bound is None or bound > 0)
    weights = _weights(codes, bound, header["absent"])
    pictures = tuple(DisplayedHead(kind, integer(layer, 0, 9999), integer(head, 0, 9999), rows, columns, weight, scores,
                                   notes, blind)
                     for (layer, head), weight in zip(header["heads"], weights, strict=True))
    return SavedHead(pictures, _view(pictures[0], how), integer(header["height"], 40, 4000), bound,
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
    (header, arrays), (how, columns) = unpack(body), unpack(state)
    cells, counts = arrays["cells"], [integer(count, 0, 1024) for count in header["heads"]]
    layers = tuple(integer(layer, 0, 9999) for layer in header["layers"])
    require(cells.dtype == np.uint8 and cells.ndim == 3 and min(cells.shape) > 0 and max(cells.shape[1:]) <= 64
            and cells.shape[0] <= 16_384)
    require(len(layers) == len(counts) == len(set(layers)) and sum(counts) == cells.shape[0] > 0)
    rows, wide = header["pool"]
    overview = Overview(Kind.SELF, layers, tuple(np.split(cells, np.cumsum(counts)[:-1])),
                        (integer(rows, 1, 10**6), integer(wide, 1, 10**6)))
    require(set(arrays) <= {"cells", "picture"})
    return SavedGrid(overview, integer(header["groups"], 1, 1024), integer(header["height"], 40, 4000),
                     _grid_state(how, columns, grid_payload.head_ids(overview)),
                     _behind(header, arrays["picture"]) if "picture" in arrays else None)


def _behind(header: dict[str, Any], pixels: np.ndarray) -> GridPicture:
    right, bottom = map(number, header["covered"])
    require(0 < right <= 1 and 0 < bottom <= 1 and header["look"] in LOOKS)
    return GridPicture(picture_pixels(pixels, grid_payload.SMALL), between(header["most"], 1.001, 1e6), (right, bottom),
                       header["look"], between(header["opacity"], 0, 1))


def _grid_state(how: dict[str, Any], columns: dict[str, np.ndarray], every: list[HeadId]) -> GridState:
    def head(number: Any) -> HeadId:
        return every[integer(number, 0, len(every) - 1)]

    def column(numbers: np.ndarray) -> dict[HeadId, float]:
        return {head: float(number) for head, number in zip(every, numbers, strict=True) if np.isfinite(number)}

    values = HeadValues(column(columns["values"]) if "values" in columns else {}, text(how.get("of", "")),
                        switch(how["signed"]), None if how["bound"] is None else number(how["bound"]),
                        switch(how.get("by_value", False)))   # not in what an earlier Clearhead saved
    return GridState(
        open_head=head(how["open"]) if how["open"] is not None else (-1, -1),
        order=None if how["order"] is None else [head(each) for each in how["order"]],
        rank_badges=[(*head(each), integer(rank, 0, 9999)) for each, rank in how["marks"]],
        values=values if values.numbers else None)
