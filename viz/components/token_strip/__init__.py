"""The sentence as a strip of tokens: a click focuses one, a second makes a pair."""
from collections.abc import Callable

from model.core.record import Tokens
from viz.components.component import Component, Picture
from viz.components.token_strip.payload import StripEvent, body, parse_event, state

__all__ = ["StripEvent", "token_strip"]

_COMPONENT = Component("token_strip")
replay = _COMPONENT.replay


def token_strip(tokens: Tokens, *, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
                chosen: bool = True, key: str, on_event: Callable[[StripEvent], None] | None = None) -> Picture:
    """Draws the strip. The event holds focus and pair as they are after the choice, None for cleared.

    A click focuses a token; the next click on another one makes the pair (from, to); a third begins anew. Shift-click
    always sets the second of the pair. Clicking the same again, or Escape, clears. Without `pairs` every click focuses:
    for one of two strips, where the pair stands across both. A focus that nobody has
    `chosen` is marked and makes no pair. on_event is called before the page runs again. """
    messages = body(tokens, room=key), state(room=key, focus=focus, pair=pair, pairs=pairs, chosen=chosen)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, len(tokens)), on_event)
