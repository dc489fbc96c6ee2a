"""Draggable numbers: a row of bars, a distribution, points in a plane. Works with pointer, touch and keyboard."""
from collections.abc import Callable
from dataclasses import dataclass

from viz import theme
from viz.components.component import Picture, show
from viz.components.messages import pack
from viz.page_controls import Numbers
from viz.text import strings

MODES = ("bars", "shares", "points")
COLOURS = theme.COMPONENT | {"heads": theme.HEADS}


@dataclass(frozen=True)
class HandleSet:
    """The parts that stay fixed while dragging."""

    labels: list[str]   # per bar or point
    name: str           # what the handles represent ("logits")
    unit: str = ""      # unit of the numbers
    # bars: one bar per number, from control.low to control.high; shares: bars from 0 to 1 that always sum to 1, with
    # the others adjusted proportionally; points: (x, y) pairs in a square plane, two numbers per label
    mode: str = "bars"
    height: int = 260   # pixels

    @property
    def count(self) -> int:
        """The number of numbers."""
        return len(self.labels) * (2 if self.mode == "points" else 1)


def body(control: Numbers, drawn: HandleSet, *, room: str, frozen: bool = False) -> bytes:
    """Return the message of what stays fixed while dragging. frozen: disable dragging, for example where captions would
    not follow."""
    return pack(constants() | {
                 "room": room, "part": "body", "mode": drawn.mode, "labels": drawn.labels, "low": control.low,
                 "high": control.high, "name": drawn.name, "unit": drawn.unit, "height": drawn.height,
                 "frozen": frozen}, {})


def constants() -> dict[str, object]:
    """Return the app's own part of the body, colours and texts, which no file provides."""
    return {"colours": COLOURS, "text": strings("lesson")["drag"]}


def state(values: tuple[float, ...], *, room: str, faint: tuple[int, ...] = ()) -> bytes:
    """Return the message of the handles' positions, and of those that are currently inactive."""
    return pack({"room": room, "part": "state", "values": list(values), "faint": list(faint)}, {})


def parse_event(value: object, control: Numbers, count: int) -> tuple[float, ...] | None:
    """Parse a browser event, {"values": [numbers]}, with as many numbers as handles; None for anything else."""
    values = value.get("values") if isinstance(value, dict) and len(value) == 1 else None
    return control.clean(values) if isinstance(values, list) and len(values) == count else None


def handles(control: Numbers, values: tuple[float, ...], drawn: HandleSet, *, faint: tuple[int, ...] = (), key: str,
            turn: Callable[..., None]) -> Picture:
    """Draw the handles at `values` and return the picture; a move calls turn(CONTROL=new values) before the page
    reruns, so pages pass page.set.

    faint: inactive (masked) bars. A focused handle moves with the arrow keys, faster with Page Up and Page Down, to the
    ends with Home and End. During a drag, about eight moves a second are sent.
    """
    messages = body(control, drawn, room=key), state(values, room=key, faint=faint)
    return show("handles", key, *messages, lambda value: parse_event(value, control, drawn.count),
                lambda moved: turn(**{control.name: moved}))
