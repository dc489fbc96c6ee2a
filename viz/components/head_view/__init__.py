"""The open head in three lenses over one state: matrix, lines, text."""
from collections.abc import Callable, Sequence
from dataclasses import replace

from model.core.displayed import DisplayedHead
from model.core.view import View
from viz.components.component import Component, Picture
from viz.components.head_view.payload import Guess, ViewEvent, body, parse_event, state

__all__ = ["Guess", "ViewEvent", "head_view"]

_COMPONENT = Component("head_view")
replay = _COMPONENT.replay


def head_view(shown: DisplayedHead, view: View, *, overlay: Sequence[DisplayedHead] = (), focus: int | None = None,
              pair: tuple[int, int] | None = None, height: int | None = None, bound: float | None = None,
              guess: Guess | None = None, key: str, on_event: Callable[[ViewEvent], None] | None = None) -> Picture:
    """Draws the head through view.lens. Positions are tokens of the map's queries and keys, not rows and columns.

    overlay: further heads over the same rows and columns, for the lines. height: pixels, at most. bound: `shown` is the
    difference of two heads, coloured symmetrically up to it (matrix only). guess: a reader's prediction, to be marked
    (matrix and text) or marked before. on_event gets what was chosen before the page runs again. """
    messages = (body(shown, room=key, overlay=overlay, height=height, bound=bound),
                state(shown, view, room=key, focus=focus, pair=pair, guess=guess))
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, shown), on_event,
                           replace(view, token=focus, pair=pair))
