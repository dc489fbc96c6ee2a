"""Draggable numbers: a row of bars, a distribution, points in a plane. Works with pointer, touch and keyboard."""
from collections.abc import Callable

from clearhead.model.core.query import frozen
from clearhead.viz.app.page_controls import Numbers
from clearhead.viz.components.component import constants, show_here, sole


@frozen
class HandleSet:
    """The parts of the drawing that stay fixed while dragging."""

    labels: list[str]   # per bar or point
    name: str           # the quantity that the handles represent ("logits")
    unit: str = ""      # unit of the numbers
    # bars: one bar per number, from control.low to control.high; shares: bars from 0 to 1 that always sum to 1, with
    # the others adjusted proportionally; points: (x, y) pairs in a square plane, two numbers per label
    mode: str = "bars"
    height: int = 260   # pixels

    @property
    def count(self) -> int:
        """The length of the list of values."""
        return len(self.labels) * (2 if self.mode == "points" else 1)


def parse_event(value: object, control: Numbers, count: int) -> tuple[float, ...] | None:
    """Parse a browser event, {"values": [numbers]} with `count` numbers; return None for anything else."""
    values = sole(value, "values")
    return control.clean(values) if isinstance(values, list) and len(values) == count else None


def handles(control: Numbers, values: tuple[float, ...], drawn: HandleSet, *, faint: tuple[int, ...] = (), key: str,
            turn: Callable[..., None]) -> None:
    """Draw the handles at `values`. A move calls turn(CONTROL=new values) before the page
    reruns; pages pass page.set as `turn`.

    faint: inactive (masked) bars. Arrow keys move a focused handle, Page Up and Page Down move it faster, Home and End
    move it to the ends. A drag sends about eight moves per second.
    """
    body = constants("drag", "lesson") | {
        "mode": drawn.mode, "labels": drawn.labels, "low": control.low, "high": control.high, "name": drawn.name,
        "unit": drawn.unit, "height": drawn.height}
    show_here("handles", key, body, {"values": values, "faint": faint},
              lambda value: parse_event(value, control, drawn.count), lambda moved: turn(**{control.name: moved}))
