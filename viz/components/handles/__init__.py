"""Numbers that one takes in the hand: a row of bars, a distribution, points in a plane. By pointer, touch and
keyboard."""
from collections.abc import Callable

from viz.components.component import Component, Picture
from viz.components.handles.payload import HandleSet, body, parse_event, state
from viz.page_controls import Numbers

__all__ = ["HandleSet", "handles"]

_COMPONENT = Component("handles")
replay = _COMPONENT.replay


def handles(control: Numbers, values: tuple[float, ...], drawn: HandleSet, *, faint: tuple[int, ...] = (), key: str,
            turn: Callable[..., None]) -> Picture:
    """Draws the handles at `values` and returns the picture; a move calls turn(CONTROL=new values) before the page runs
    again, so a page passes page.set.

    faint: bars that count for nothing now (masked). A focused handle moves with the arrow keys, faster with Page Up and
    Page Down, to the ends with Home and End. While one drags, a move is sent about eight times a second.
    """
    messages = body(control, drawn, room=key), state(values, room=key, faint=faint)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, control, drawn.count),
                           lambda moved: turn(**{control.name: moved}))
