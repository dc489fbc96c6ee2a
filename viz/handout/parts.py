"""The messages of the smaller components, read back: a block's drawing, handles, painted cells, a strip of tokens, the
Transformer's figure.

In a handout nothing is dragged or painted: neither its caption nor the figures beside it would follow. As in
pictures.py, nothing is taken over as it came: each value is checked, and the component's own payload writes both
messages anew. """
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core.limits import LIMITS
from viz.components.block_diagram import payload as block_payload
from viz.components.handles import payload as handles_payload
from viz.components.handles.payload import HandleSet
from viz.components.mask_editor import payload as mask_payload
from viz.components.messages import unpack
from viz.components.token_strip import payload as strip_payload
from viz.components.transformer_diagram import payload as diagram_payload
from viz.format import true_minus
from viz.handout.patches import patches_part
from viz.handout.story import story_of
from viz.handout.validation import integer, number, require, safely, switch, text
from viz.page_controls import Numbers
from viz.text import strings

WORDS = strings("handout")["proposed"]


@dataclass(frozen=True)
class Part:
    """A small component's messages, checked and ready to be written anew."""

    messages: Callable[[str], tuple[bytes, bytes]]   # the two messages for a room of this name
    caption: str                                     # the caption that is proposed


def _plain(body: bytes, state: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both headers of messages without arrays."""
    (header, arrays), (how, more) = unpack(body), unpack(state)
    require(not arrays and not more)
    return header, how


@safely
def block_of(body: bytes, state: bytes) -> Part:
    """A block's boxes from the bottom up and the one that is marked."""
    header, how = _plain(body, state)
    require(len(header["boxes"]) == len(header["kinds"]) <= LIMITS.handout_parts)
    require(set(header["kinds"]) <= set(block_payload.TINTS))
    boxes = tuple(block_payload.DiagramBox(text(box[0]), kind, text(box[4]), text(box[5]))
                  for box, kind in zip(header["boxes"], header["kinds"], strict=True))
    alt, opened = text(header["alt"]), text(how["opened"])
    return Part(lambda room: (block_payload.body(boxes, room=room, alt=alt), block_payload.state(opened, room=room)),
                alt)


@safely
def handles_of(body: bytes, state: bytes) -> Part:
    """Bars, shares or points with their numbers."""
    header, how = _plain(body, state)
    drawn = HandleSet([text(label) for label in header["labels"]], text(header["name"]), text(header["unit"]),
                      text(header["mode"]), integer(header["height"], 40, 4000))
    labels, low, high = drawn.labels, number(header["low"]), number(header["high"])
    values = tuple(map(number, how["values"]))
    faint = tuple(integer(place, 0, len(labels) - 1) for place in how["faint"])
    require(low < high and 0 < len(labels) <= LIMITS.handout_parts and len(values) == drawn.count and low <= min(values)
            and max(values) <= high)
    control, per_label = Numbers("", values, low, high, len(values), len(values)), len(values) // len(labels)
    numbers = (" ".join(true_minus(f"{value:z.2f}") for value in values[at:at + per_label])
               for at in range(0, len(values), per_label))
    listed = ", ".join(f"{label} {written}" for label, written in zip(labels, numbers, strict=True))
    return Part(lambda room: (handles_payload.body(control, drawn, room=room, frozen=True),
                              handles_payload.state(values, room=room, faint=faint)),
                f"{drawn.name[:1].upper()}{drawn.name[1:]}: {listed}.")


@safely
def mask_editor_of(body: bytes, state: bytes) -> Part:
    """A painted square: who may look where."""
    header, how = _plain(body, state)
    labels = [text(label) for label in header["labels"]]
    allowed = np.array([integer(cell, 0, 1) for cell in how["allowed"]], bool).reshape(len(labels), len(labels))
    marked = None if how["marked"] is None else integer(how["marked"], 0, len(labels) - 1)
    require(0 < len(labels) <= LIMITS.handout_parts)
    return Part(lambda room: (mask_payload.body(labels, room=room, frozen=True),
                              mask_payload.state(allowed, room=room, marked=marked)),
                WORDS["cells"].format(open=int(allowed.sum()), cells=allowed.size))


@safely
def strip_of(body: bytes, state: bytes) -> Part:
    """The tokens of a text, and which of them are chosen."""
    header, how = _plain(body, state)
    axis, count = header["tokens"], len(header["tokens"]["texts"])
    require(0 < count <= LIMITS.tokens and all(len(axis[name]) == count for name in ("tokens", "flags", "segments")))
    tokens = {"texts": [text(word) for word in axis["texts"]],
              "tokens": [integer(token, 0, 10**7) for token in axis["tokens"]],
              "flags": [integer(flag, 0, 7) for flag in axis["flags"]],
              "segments": [integer(segment, -1, 1) for segment in axis["segments"]]}
    focus = None if how["focus"] is None else integer(how["focus"], 0, count - 1)
    pair = None if how["pair"] is None else (integer(how["pair"][0], 0, count - 1),
                                             integer(how["pair"][1], 0, count - 1))
    pairs = switch(how["pairs"])
    return Part(lambda room: (strip_payload.body_of_axis(tokens, room=room),
                              strip_payload.state(room=room, focus=focus, pair=pair, pairs=pairs)),
                WORDS["strip"].format(count=count))


@safely
def transformer_diagram_of(body: bytes, state: bytes) -> Part:
    """The Transformer's figure with what is said of each box; its lessons are the app's."""
    doors = {}
    for box, door in _plain(body, state)[0]["doors"].items():
        require(box in {each[0] for each in diagram_payload.BOXES})
        doors[box] = diagram_payload.Door("", text(door["words"]), integer(door["minutes"], 0, 999),
                                          tuple(map(text, door["before"][:LIMITS.handout_parts])))
    return Part(lambda room: (diagram_payload.body(doors, room=room), diagram_payload.state(room=room)),
                strings("lesson")["anatomy"]["figure"] + ".")


def story_part(body: bytes, state: bytes) -> Part:
    """One text on its way to the next word."""
    return Part(*story_of(body, state))


def picture_part(body: bytes, state: bytes) -> Part:
    """A picture under its patches."""
    return Part(*patches_part(body, state))


PARTS: dict[str, Callable[[bytes, bytes], Part]] = {
    "block_diagram": block_of, "handles": handles_of, "mask_editor": mask_editor_of, "picture_view": picture_part,
    "token_strip": strip_of,
    "transformer_diagram": transformer_diagram_of, "story": story_part}
