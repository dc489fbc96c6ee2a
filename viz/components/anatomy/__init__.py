"""The Transformer's own figure, each box a way into its lesson."""
from collections.abc import Callable, Mapping

from viz.components.anatomy.payload import BOXES, Door, body, read, state
from viz.components.mounted import Component

__all__ = ["BOXES", "Door", "anatomy"]

_COMPONENT = Component("anatomy")
replay = _COMPONENT.replay


def anatomy(doors: Mapping[str, Door], *, key: str, on_open: Callable[[str], None]) -> None:
    """Draws figure 1 of Vaswani et al. 2017, and beside it the insides of its attention, after figure 2.

    doors: by the name of the box; a box without a door is drawn quietly. on_open gets the lesson before the page runs again.
    """
    messages = body(doors, room=key), state(room=key)
    _COMPONENT.show(key, *messages, lambda value: read(value, doors), on_open)
    from viz.components.keep import keep_picture  # a handout's items read this package's messages

    keep_picture("anatomy", key, messages)
