"""One block as a drawing from the bottom up, the residual connections beside it: a click on a box opens it."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from viz import theme
from viz.components.component import Picture, show
from viz.components.messages import pack

ACROSS, STEP, WIDE, HIGH = 300, 64, 208, 44    # the drawing's width, from box to box, a box
MIDDLE, ASIDE = 112, 284                       # where the stream and the residual connection run
TINTS = {"in": "none", "norm": "yellow", "add": "none", "add_norm": "yellow", "attention": "orange", "cross": "orange",
         "feed_forward": "blue"}


@dataclass(frozen=True)
class DiagramBox:
    """One box: its name, its kind (model.lessons.block), its words and the shape of what leaves it."""

    name: str
    kind: str
    words: str
    shape: str


def body(boxes: Sequence[DiagramBox], *, room: str, alt: str) -> bytes:
    """Return the message of boxes and lines. alt: the drawing in words."""
    high = STEP * len(boxes) + 30
    at = [high - 26 - STEP * (place + 0.5) for place in range(len(boxes))]
    return pack(constants() | {
                 "room": room, "part": "body", "size": [ACROSS, high], "alt": alt, "wires": wires(boxes, at),
                 "kinds": [box.kind for box in boxes],
                 "boxes": [[box.name, MIDDLE, y, TINTS[box.kind], box.words, box.shape]
                           for box, y in zip(boxes, at, strict=True)]}, {})


def constants() -> dict[str, object]:
    """Return the app's own part of the body: colours and words, which no file brings."""
    return {"box": [WIDE, HIGH], "colours": theme.COMPONENT}


def wires(boxes: Sequence[DiagramBox], at: Sequence[float]) -> list[list[float]]:
    """Return [x, y, x, y, …]: the stream through every box, and round each sub-layer the residual connection into the
    box that adds."""
    polylines = [[MIDDLE, low - HIGH / 2, MIDDLE, high + HIGH / 2]
                 for low, high in pairwise(at)] + [[MIDDLE, at[-1] - HIGH / 2, MIDDLE, 4]]
    start = 0
    for place, box in enumerate(boxes):
        if box.kind in ("add", "add_norm"):
            leave = at[start] - HIGH / 2 - 7
            polylines.append([MIDDLE, leave, ASIDE, leave, ASIDE, at[place], MIDDLE + WIDE / 2, at[place]])
            start = place
    return polylines


def state(opened: str, *, room: str) -> bytes:
    """Return the message of which box is marked."""
    return pack({"room": room, "part": "state", "opened": opened}, {})


def parse_event(value: object, boxes: Sequence[DiagramBox]) -> str | None:
    """Return the box in what a browser sent: {"box": name}; None for anything else."""
    if not isinstance(value, dict) or set(value) != {"box"} or value["box"] not in [box.name for box in boxes]:
        return None
    return value["box"]


def block_diagram(boxes: Sequence[DiagramBox], opened: str, *, alt: str, key: str,
                  on_open: Callable[[str], None]) -> Picture:
    """Draw the boxes; `opened` names the one that is marked. on_open gets the name of a box before the page runs
    again."""
    messages = body(boxes, room=key, alt=alt), state(opened, room=key)
    return show("block_diagram", key, *messages, lambda value: parse_event(value, boxes), on_open)
