"""Every layer × head as a thumbnail: `head_grid` draws it in a page; `payload` makes its messages for any other
place."""
from collections.abc import Callable

from model.core.heads import Overview
from model.core.view import View
from viz.components.component import Component, Picture
from viz.components.head_grid.payload import (
    GridEvent,
    GridPicture,
    GridState,
    HeadValues,
    body,
    parse_event,
    state,
)

__all__ = ["GridEvent", "GridPicture", "GridState", "HeadValues", "head_grid"]

_COMPONENT = Component("head_grid")
replay = _COMPONENT.replay


def head_grid(overview: Overview, shown: GridState, *, heads_per_kv: int = 1, height: int = 560,
              behind: GridPicture | None = None, key: str,
              on_event: Callable[[GridEvent], None] | None = None) -> Picture:
    """Draws the grid and returns the picture.

    heads_per_kv: how many query heads share a key head. height: pixels; more than that scrolls.
    behind: the picture that the thumbnails lie on, whose cells then are one row. Where heads can be
    silenced (shown.silences is not None), Alt and a click or S does it, and if it is true a click alone. on_event gets
    the head that was chosen before the page runs again, so that the page is drawn once with the new head.
    """
    messages = (body(overview, room=key, heads_per_kv=heads_per_kv, height=height, silence=shown.silences is not None,
                     behind=behind),
                state(overview, shown, room=key))
    view = View(kind=overview.kind, layer=shown.open_head[0], head=shown.open_head[1])
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, overview), on_event, view)
