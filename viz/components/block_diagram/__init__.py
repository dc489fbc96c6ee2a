"""One block as a drawing from the bottom up, the residual connections beside it: a click on a box opens it."""
from collections.abc import Callable, Sequence

from viz.components.block_diagram.payload import Drawn, body, read, state
from viz.components.mounted import Component

__all__ = ["Drawn", "block_diagram"]

_COMPONENT = Component("block_diagram")


def block_diagram(boxes: Sequence[Drawn], opened: str, *, alt: str, key: str, on_open: Callable[[str], None]) -> None:
    """Draws the boxes; `opened` names the one that is marked. on_open gets the name of a box before the page runs again."""
    _COMPONENT.show(key, body(boxes, room=key, alt=alt), state(opened, room=key), lambda value: read(value, boxes), on_open)
