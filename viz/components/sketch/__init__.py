"""A curve that one draws by hand over given axes, before the real one is shown. By pointer, touch and keyboard."""
from collections.abc import Callable

from viz.components.component import Component, Picture
from viz.components.sketch.payload import Axes, body, parse_event, state
from viz.page_controls import Numbers

__all__ = ["Axes", "sketch"]

_COMPONENT = Component("sketch")
replay = _COMPONENT.replay


def sketch(control: Numbers, values: tuple[float, ...], axes: Axes, *, key: str, turn: Callable[..., None]) -> Picture:
    """Draws the axes and the curve so far: `values` are heights, as shares of the axis from 0 at its foot to 1 at its
    top, at places evenly spaced from edge to edge; () where nothing is drawn yet. A finished stroke calls
    turn(CONTROL=values) before the page runs again. One stroke across is a curve, another one mends it; with the
    keyboard each place is a slider."""
    messages = body(axes, control.longest, room=key), state(values, room=key)
    return _COMPONENT.show(key, *messages, lambda value: parse_event(value, control),
                           lambda drawn: turn(**{control.name: drawn}))
