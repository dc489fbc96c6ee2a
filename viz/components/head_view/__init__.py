"""The open head in three lenses over one state: matrix, lines, text."""
from collections.abc import Callable, Sequence

from model.core.view import DisplayedHead, View
from viz.components.component import Component, Picture
from viz.components.head_view.payload import Below, Guess, ViewEvent, body, parse_event, state

__all__ = ["Below", "Guess", "ViewEvent", "head_view"]

_COMPONENT = Component("head_view")
replay = _COMPONENT.replay


def head_view(shown: DisplayedHead, view: View, *, overlay: Sequence[DisplayedHead] = (),
              height: int | Below | None = None, bound: float | None = None, guess: Guess | None = None,
              why_scale: str = "", key: str, on_event: Callable[[ViewEvent], None] | None = None) -> Picture:
    """Draws the head as the view says (lens, scale, token in focus, pair) and returns the picture.

    overlay: further heads over the same rows and columns, for the lines. height: pixels, at most, or the rest of
    the window. bound: `shown` is the difference of two heads, coloured symmetrically up to it (matrix only). guess: a
    reader's prediction, to be marked (matrix and text) or marked before. why_scale: why this scale, where nobody chose
    it. on_event gets what was chosen before the page runs again; its positions are tokens of the map's queries and
    keys, not rows and columns.
    """
    return _COMPONENT.show(key=key, read=lambda value: parse_event(value, shown), on_event=on_event, view=view,
                           body=body(shown, room=key, overlay=overlay, height=height, bound=bound),
                           state=state(shown, view, room=key, guess=guess, why_scale=why_scale))
