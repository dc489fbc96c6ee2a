"""A picture under its patch grid: each patch in the colour of its weight, a click on one chooses it."""
from collections.abc import Callable

from model.core.view import View
from viz.components.component import Component, Picture
from viz.components.picture_view.payload import (
    HEIGHT,
    Below,
    Patches,
    PatchEvent,
    PatchState,
    PatchValues,
    body,
    parse_event,
    state,
)

__all__ = ["PatchEvent", "PatchState", "PatchValues", "Patches", "picture_view"]

_COMPONENT = Component("picture_view")
replay = _COMPONENT.replay


def picture_view(patches: Patches, values: PatchValues, shown: PatchState, *, height: int | Below = HEIGHT, key: str,
                 view: View | None = None, frozen: bool = False,
                 on_event: Callable[[PatchEvent], None] | None = None) -> Picture:
    """Draws the picture with a number a patch and returns it, for whoever keeps pictures.

    height: pixels, at most. view: the head that it shows. frozen: nothing can be chosen in it. on_event
    gets the token that was chosen before the page runs again.
    """
    return _COMPONENT.show(key, body(patches, room=key, height=height, frozen=frozen), state(values, shown, room=key),
                           lambda value: parse_event(value, len(patches.texts)), on_event, view)
