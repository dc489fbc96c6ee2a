"""A small square of cells that one paints: who may look where."""
from collections.abc import Callable

import numpy as np

from viz.components.component import Component, Picture
from viz.components.mask_editor.payload import body, parse_event, state

__all__ = ["mask_editor"]

_COMPONENT = Component("mask_editor")
replay = _COMPONENT.replay


def mask_editor(allowed: np.ndarray, labels: list[str], *, marked: int | None = None, key: str,
                on_paint: Callable[[np.ndarray], None]) -> Picture:
    """Draws bool (query, key); what was painted is handed to on_paint as the new square before the page runs again.
    marked: a row to point out.

    A click or tap turns a cell over, dragging paints the others like the first; the arrow keys move, Space or Enter
    turns over. """
    messages = body(labels, room=key), state(allowed, room=key, marked=marked)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, len(labels)), on_paint)
