"""Numbers that one takes in the hand: a row of bars, a distribution, points in a plane. By pointer, touch and
keyboard."""
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
    """What is drawn, and stays while one drags."""

    labels: list[str]   # of each bar or point
    name: str           # what the handles are ("logits")
    unit: str = ""      # what one number is
    # bars: one bar a number, from control.low to control.high; shares: bars from 0 to 1 that always sum to 1, where the
    # others give way in proportion; points: (x, y) pairs in a square plane, two numbers a label
    mode: str = "bars"
    height: int = 260   # pixels

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return len(self.labels) * (2 if self.mode == "points" else 1)


def body(control: Numbers, drawn: HandleSet, *, room: str, frozen: bool = False) -> bytes:
    """Return the message of what stays while one drags. frozen: nothing can be dragged, as where no caption would
    follow."""
    return pack(constants() | {
                 "room": room, "part": "body", "mode": drawn.mode, "labels": drawn.labels, "low": control.low,
                 "high": control.high, "name": drawn.name, "unit": drawn.unit, "height": drawn.height,
                 "frozen": frozen}, {})


def constants() -> dict[str, object]:
    """Return the app's own part of the body: colours and words, which no file brings."""
    return {"colours": COLOURS, "text": strings("lesson")["drag"]}


def state(values: tuple[float, ...], *, room: str, faint: tuple[int, ...] = ()) -> bytes:
    """Return the message of where the handles are, and which of them count for nothing now."""
    return pack({"room": room, "part": "state", "values": list(values), "faint": list(faint)}, {})


def parse_event(value: object, control: Numbers, count: int) -> tuple[float, ...] | None:
    """Return the handles' new values in what a browser sent: {"values": [numbers]}, as many as there are handles; None
    for anything else."""
    values = value.get("values") if isinstance(value, dict) and len(value) == 1 else None
    return control.clean(values) if isinstance(values, list) and len(values) == count else None


def handles(control: Numbers, values: tuple[float, ...], drawn: HandleSet, *, faint: tuple[int, ...] = (), key: str,
            turn: Callable[..., None]) -> Picture:
    """Draw the handles at `values` and returns the picture; a move calls turn(CONTROL=new values) before the page runs
    again, so a page passes page.set.

    faint: bars that count for nothing now (masked). A focused handle moves with the arrow keys, faster with Page Up and
    Page Down, to the ends with Home and End. While one drags, a move is sent about eight times a second.
    """
    messages = body(control, drawn, room=key), state(values, room=key, faint=faint)
    return show("handles", key, *messages, lambda value: parse_event(value, control, drawn.count),
                lambda moved: turn(**{control.name: moved}))
