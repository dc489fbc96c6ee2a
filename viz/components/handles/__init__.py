"""Numbers that one takes in the hand: a row of bars, a distribution, points in a plane. By pointer, touch and
keyboard."""
from collections.abc import Callable

from viz.components.component import Component, Picture
from viz.components.handles.payload import body, parse_event, state
from viz.page_controls import Numbers

__all__ = ["handles"]

_COMPONENT = Component("handles")
replay = _COMPONENT.replay


def handles(control: Numbers, values: tuple[float, ...], labels: list[str], *, mode: str = "bars", name: str,
            unit: str = "", faint: tuple[int, ...] = (), height: int = 260, key: str,
            turn: Callable[..., None]) -> Picture:
    """Draws the handles at `values`; a move calls turn(CONTROL=new values) before the page runs again, so a page passes
    frame.turn.

    mode "bars": one bar a number, between control.low and control.high. "shares": bars from 0 to 1 that always sum to
    1; the others give way in proportion. "points": (x, y) pairs in a square plane, two numbers a label. name says what
    the handles are ("logits"), unit what one number is. faint: bars that count for nothing now (masked). A focused
    handle moves with the arrow keys, faster with Page Up and Page Down, to the ends with Home and End. While one drags,
    a move is sent about eight times a second. """
    count = len(labels) * (2 if mode == "points" else 1)
    messages = body(control, labels, room=key, mode=mode, name=name, unit=unit,
                    height=height), state(values, room=key, faint=faint)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, control, count),
                           lambda found: turn(**{control.name: found}))
