"""The messages of the picture from letters to the next word, read back. In a handout it stands still where it was kept,
at its end, and steps; nothing in it leads anywhere or writes.

As in parts.py, each value is checked, and the component's own payload writes both messages anew. """
from collections.abc import Callable
from typing import Any

import numpy as np

from model.core.limits import LIMITS
from viz.components.messages import unpack
from viz.components.story import payload
from viz.handout.validation import integer, number, require, safely, switch, text

MOST = 10**7     # of an id, of a place, of the numbers in a vector


@safely
def story_of(body: bytes, state: bytes) -> tuple[Callable[[str], tuple[bytes, bytes]], str]:
    """(what writes both messages for a room of a name, the caption that is proposed)."""
    (header, arrays), (how, more) = unpack(body), unpack(state)
    require(not more and set(arrays) == {"embedded", "placed", "weights", "marks", "added", "neurons"})
    clean = _header(header)
    pieces, (blocks, heads) = len(clean["pieces"]), clean["shape"]
    shapes = {"embedded": (pieces, payload.CELLS), "placed": (pieces, payload.CELLS), "weights": (pieces,),
              "marks": (blocks, heads), "added": (blocks, 2)}
    for name, array in arrays.items():
        require(array.dtype == np.float32 and bool(np.isfinite(array).all()))
        require(array.ndim == 1 and 0 < len(array) <= MOST if name == "neurons" else array.shape == shapes[name])
    step = integer(how["step"], 0, len(payload.STEPS) - 1)
    return (lambda room: (payload.message(clean, arrays, room=room, frozen=True),
                          payload.state(room=room, step=step, plays=False)), clean["alt"])


def _header(header: dict[str, Any]) -> dict[str, Any]:
    """Everything in the body that is no array, checked."""
    clean: dict[str, Any] = {name: text(header[name]) for name in ("alt", "earlier", "rest")}
    clean |= {name: number(header[name]) for name in ("early", "bound")}
    clean |= {name: integer(header[name], 0, MOST) for name in ("first", "width")}
    clean |= {name: _list(header[name], text) for name in ("pieces", "shares", "words", "scores", "written")}
    clean |= {name: _list(header[name], number) for name in ("logits", "chances")}
    clean |= {name: _list(header[name], lambda each: integer(each, 0, MOST)) for name in ("ids", "numbers", "shape")}
    clean["line"] = _list(header["line"], lambda part: [text(part[0]), switch(part[1])])
    clean["steps"] = [[name, text(step[1]), text(step[2]), "", text(step[4])]
                      for name, step in zip(payload.STEPS, header["steps"], strict=True)]
    blocks, heads = clean["shape"]
    clean["opened"] = [integer(header["opened"][0], 0, blocks - 1), integer(header["opened"][1], -1, heads - 1)]
    require(len({len(clean[name]) for name in ("pieces", "ids", "shares")}) == 1 and len(clean["pieces"]) > 0)
    require(len({len(clean[name]) for name in ("words", "numbers", "logits", "scores", "chances", "written")}) == 1)
    require(len(clean["words"]) > 0 and clean["bound"] > 0)
    return clean | {"again": ""}


def _list(values: Any, read: Callable[[Any], Any]) -> list[Any]:
    require(isinstance(values, list) and len(values) <= LIMITS.handout_parts)
    return [read(value) for value in values]
