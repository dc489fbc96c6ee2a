"""The Transformer's own figure, each box a way into its lesson."""
from collections.abc import Callable, Mapping

from viz.components.component import Component, Picture
from viz.components.transformer_diagram.payload import BOXES, Door, body, parse_event, state

__all__ = ["BOXES", "Door", "transformer_diagram"]

_COMPONENT = Component("transformer_diagram")
replay = _COMPONENT.replay


def transformer_diagram(doors: Mapping[str, Door], *, key: str, on_open: Callable[[str], None]) -> Picture:
    """Draws figure 1 of Vaswani et al. 2017, and beside it the insides of its attention, after figure 2.

    doors: by the name of the box; a box without a door is drawn quietly. on_open gets the lesson before the page runs
    again. """
    messages = body(doors, room=key), state(room=key)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, doors), on_open)
