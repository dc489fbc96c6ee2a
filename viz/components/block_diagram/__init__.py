"""One block as a drawing from the bottom up, the residual connections beside it: a click on a box opens it."""
from collections.abc import Callable, Sequence

from viz.components.block_diagram.payload import DiagramBox, body, parse_event, state
from viz.components.component import Component, Picture

__all__ = ["DiagramBox", "block_diagram"]

_COMPONENT = Component("block_diagram")
replay = _COMPONENT.replay


def block_diagram(boxes: Sequence[DiagramBox], opened: str, *, alt: str, key: str,
                  on_open: Callable[[str], None]) -> Picture:
    """Draws the boxes; `opened` names the one that is marked. on_open gets the name of a box before the page runs
    again."""
    messages = body(boxes, room=key, alt=alt), state(opened, room=key)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, boxes), on_open)
