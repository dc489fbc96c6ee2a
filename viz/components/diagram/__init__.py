"""A diagram of boxes and lines; a click on a box opens it. The layouts are in block.py, stacks.py and
transformer.py."""
from collections.abc import Callable, Sequence
from dataclasses import asdict

from clearhead.model.core.query import frozen
from clearhead.viz.components.component import show_here, sole
from clearhead.viz.style import theme


@frozen
class Box:
    """A box of a diagram. Several boxes may have the same name."""

    name: str
    place: tuple[float, float, float, float]   # x and y of the centre, width and height
    lines: Sequence[str]
    look: str                       # CSS classes
    label: str = ""                 # what it opens, for screen readers; "" for a box that opens nothing
    drawing: int = 0                # index of its drawing
    hint: str = ""                  # text below the diagram while the box is under the pointer
    corner: str = ""                # small text in the lower right corner
    before: tuple[str, ...] = ()    # names of the boxes to outline together with it


def parse_event(value: object, boxes: Sequence[Box]) -> str | None:
    """Parse a browser event, {"box": name}, and return the name; None for anything else."""
    name = sole(value, "box")
    return name if name in [box.name for box in boxes if box.label] else None


def diagram(drawings: Sequence[tuple[object, ...]], boxes: Sequence[Box], wires: Sequence[Sequence[object]], *,
            frames: Sequence[object] = (), labels: Sequence[object] = (), hint: str = "", opened: str = "", key: str,
            on_open: Callable[[str], None] | None = None) -> None:
    """Draw a diagram. drawings: (alternative text, width, height) of each. wires: [drawing, [x, y, x, y, …]] of each
    arrow. frames: [drawing, x, y, width, height]. labels: [drawing, x, y, text]. Wires and labels may end with a CSS
    class, "loud". hint: the text below the diagram while
    no box is under the pointer. opened: name of the marked box. on_open: receives the name of a clicked box before the
    page reruns."""
    show_here("diagram", key, {"colours": theme.COMPONENT, "drawings": drawings, "wires": wires, "frames": frames,
                               "labels": labels, "hint": hint, "boxes": list(map(asdict, boxes))},
              {"opened": opened}, lambda value: parse_event(value, boxes), on_open)
