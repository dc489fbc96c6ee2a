"""A Transformer block with its residual connections, drawn from the bottom up; a click on a box opens it."""
from collections.abc import Callable, Sequence
from itertools import pairwise

from clearhead.model.core.query import frozen
from clearhead.viz.components.diagram import Box, diagram

ACROSS, STEP, WIDE, HIGH = 300, 64, 208, 44    # width of the drawing, distance between boxes, size of a box
MIDDLE, ASIDE = 112, 284                       # x of the residual stream and of the residual connections
TINTS = {"in": "none", "norm": "yellow", "add": "none", "add_norm": "yellow", "attention": "orange", "cross": "orange",
         "feed_forward": "blue"}


@frozen
class DiagramBox:
    """A box: its name, kind (see clearhead.model.lessons.block), label and output shape."""

    name: str
    kind: str
    words: str
    shape: str


def wires(boxes: Sequence[DiagramBox], at: Sequence[float]) -> list[list[float]]:
    """Return polylines [x, y, x, y, …]: the residual stream through all boxes, and for each sub-layer the residual
    connection to its addition."""
    polylines = [[MIDDLE, low - HIGH / 2, MIDDLE, high + HIGH / 2]
                 for low, high in pairwise(at)] + [[MIDDLE, at[-1] - HIGH / 2, MIDDLE, 4]]
    start = 0
    for place, box in enumerate(boxes):
        if box.kind in ("add", "add_norm"):
            leave = at[start] - HIGH / 2 - 7
            polylines.append([MIDDLE, leave, ASIDE, leave, ASIDE, at[place], MIDDLE + WIDE / 2, at[place]])
            start = place
    return polylines


def block_diagram(boxes: Sequence[DiagramBox], opened: str, *, alt: str, key: str,
                  on_open: Callable[[str], None]) -> None:
    """Draw the boxes; `opened` names the marked one. on_open receives the name of a clicked box before the page
    reruns. alt: alternative text of the drawing."""
    high = STEP * len(boxes) + 30
    at = [high - 26 - STEP * (place + 0.5) for place in range(len(boxes))]
    placed = [Box(box.name, (MIDDLE, y, WIDE, HIGH), (box.words, box.shape), f"part {TINTS[box.kind]}",
                  f"{box.words}, {box.shape}") for box, y in zip(boxes, at, strict=True)]
    diagram([(alt, ACROSS, high)], placed, [(0, points) for points in wires(boxes, at)], opened=opened, key=key,
            on_open=on_open)
