"""The open head in three lenses over one state: matrix, lines, text."""
from collections.abc import Callable, Sequence

from model.displayed import Shown
from model.view import View
from viz.components.head_view.payload import ViewEvent, body, read, state
from viz.components.mounted import Component

__all__ = ["ViewEvent", "head_view"]

_COMPONENT = Component("head_view")


def head_view(shown: Shown, view: View, *, overlay: Sequence[Shown] = (), focus: int | None = None, pair: tuple[int, int] | None = None,
              height: int | None = None, key: str, on_event: Callable[[ViewEvent], None] | None = None) -> ViewEvent | None:
    """Draws the head through view.lens; what was just chosen, or None. Positions are tokens of the map's queries and keys, not rows and columns.

    overlay: further heads over the same rows and columns, for the lines. height: pixels, at most. on_event is called before the page runs again.
    """
    return _COMPONENT.show(key, body(shown, room=key, overlay=overlay, height=height), state(shown, view, room=key, focus=focus, pair=pair),
                           lambda value: read(value, shown), on_event)
