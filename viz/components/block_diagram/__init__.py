"""One block as a drawing from the bottom up, the residual connections beside it: a click on a box opens it."""
from collections.abc import Callable, Sequence

from model.core.record import AttentionRecord
from model.core.view import View
from viz.components.block_diagram.payload import Drawn, body, read, state
from viz.components.component import Component

__all__ = ["Drawn", "block_diagram"]

_COMPONENT = Component("block_diagram")
replay = _COMPONENT.replay


def block_diagram(boxes: Sequence[Drawn], opened: str, *, alt: str, source: tuple[AttentionRecord, ...] = (), key: str,
                  on_open: Callable[[str], None]) -> None:
    """Draws the boxes; `opened` names the one that is marked. on_open gets the name of a box before the page runs again. source: the records that
    it shows; with them "Add to handout" stands under the drawing."""
    messages = body(boxes, room=key, alt=alt), state(opened, room=key)
    _COMPONENT.show(key, *messages, lambda value: read(value, boxes), on_open)
    if source:
        from viz.widgets.handout_button import keep_picture  # a handout's items read this package's messages

        keep_picture("block_diagram", key, messages, source, View(kind=source[0].kinds[0]))
