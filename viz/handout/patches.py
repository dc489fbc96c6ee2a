"""The messages of a picture under its patches, read back: each value is checked, and the component's own payload writes
both anew. In a handout no other token can be chosen, as nobody is there who knows its row."""
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from model.core.limits import LIMITS
from viz.components.messages import unpack
from viz.components.picture_view import payload
from viz.components.picture_view.payload import KINDS, LOOKS, Patches, PatchState, PatchValues
from viz.format import format_signed
from viz.handout.validation import integer, number, require, safely, text
from viz.text import strings

WORDS = strings("handout")["proposed"]
SIDE = 2048    # pixels of a picture, at most
NAMED = 3      # tokens that are named with their numbers


class SavedPicture(NamedTuple):
    """A picture under its patches as it was shown."""

    patches: Patches
    values: PatchValues
    shown: PatchState
    height: int   # pixels


@safely
def picture_of(body: bytes, state: bytes) -> SavedPicture:
    """The picture of its two messages. Raises UserError if that is not what they are."""
    (header, arrays), (how, numbers) = unpack(body), unpack(state)
    names, places = [text(name, 200) for name in header["texts"]], header["places"]
    rows, columns = (integer(size, 1, 1024) for size in header["grid"])
    require(set(arrays) == {"picture", "boxes"} and set(numbers) == {"values"})
    require(0 < len(names) <= LIMITS.tokens and len(places) == len(names))
    patches = Patches(picture_pixels(arrays["picture"], SIDE), tuple(names), _boxes(arrays["boxes"], len(names)),
                      tuple(integer(place, -1, rows * columns - 1) for place in places), (rows, columns),
                      text(header["label"], 400))
    return SavedPicture(patches, _values(how, numbers["values"], len(names)), _shown(how, len(names)),
                        integer(header["height"], 40, 4000))


def picture_pixels(pixels: np.ndarray, most: int) -> np.ndarray:
    """The array, if it is a picture of at most so many pixels a side. Raises ValueError."""
    require(pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] == 3 and min(pixels.shape) > 0
            and max(pixels.shape[:2]) <= most)
    return pixels


def between(value: Any, low: float, high: float) -> float:
    """The value, if it is a number from low to high. Raises ValueError."""
    require(low <= number(value) <= high)
    return float(value)


def _boxes(boxes: np.ndarray, count: int) -> np.ndarray:
    require(boxes.dtype == np.float32 and boxes.shape == (count, 4))
    patches = boxes[~np.isnan(boxes).any(1)]
    require(bool(len(patches) and (patches >= 0).all() and (patches <= 1).all()))
    require(bool((patches[:, :2] < patches[:, 2:]).all()))
    return boxes


def _values(how: dict[str, Any], numbers: np.ndarray, count: int) -> PatchValues:
    require(numbers.dtype == np.float32 and numbers.shape == (count,) and not np.isinf(numbers).any()
            and how["kind"] in KINDS)
    even = None if how["even"] is None else between(how["even"], 1e-9, 1)
    require((how["kind"] == "weight") == (even is not None))
    low, high = number(how["low"]), number(how["high"])
    require(high > (1 if how["kind"] == "weight" else low if how["kind"] == "plain" else 0))
    return PatchValues(numbers, text(how["name"], 200), text(how["what"], 200), how["kind"], even, low, high)


def _shown(how: dict[str, Any], count: int) -> PatchState:
    require(how["look"] in LOOKS)
    hidden, outlined = (tuple(integer(token, 0, count - 1) for token in how[name][:LIMITS.tokens])
                        for name in ("hidden", "outlined"))
    focus = None if how["focus"] is None else integer(how["focus"], 0, count - 1)
    return PatchState(focus, how["look"], between(how["opacity"], 0, 1), hidden, outlined, text(how["says"], 1000))


def patches_part(body: bytes, state: bytes) -> tuple[Callable[[str], tuple[bytes, bytes]], str]:
    """What writes both messages anew for a room, and the caption that is proposed."""
    saved = picture_of(body, state)
    return lambda room: (payload.body(saved.patches, room=room, height=saved.height, frozen=True),
                         payload.state(saved.values, saved.shown, room=room)), caption(saved)


def caption(saved: SavedPicture) -> str:
    """What is drawn over which picture, and the largest of its numbers."""
    patches, values, shown = saved.patches, saved.values, saved.shown
    numbers = np.nan_to_num(values.numbers)
    order = np.argsort(-np.abs(numbers), kind="stable")[:NAMED]
    form = "+.3f" if values.kind == "signed" else ".3f"
    most = ", ".join(f"{patches.texts[token]} {format_signed(float(numbers[token]), form)}" for token in order)
    name = f"{values.name[:1].upper()}{values.name[1:]}"
    if values.kind == "none":
        return WORDS["picture_plain"].format(label=patches.label)
    if shown.focus is None:
        return WORDS["picture_values"].format(name=name, what=values.what, most=most)
    words = WORDS["picture_change" if values.kind == "signed" else "picture_row"]
    return words.format(name=name, what=values.what, a=patches.texts[shown.focus], most=most)
