"""The Transformer diagram, with a link from each box to its lesson."""
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from clearhead.model.core.query import frozen
from clearhead.viz.components.component import constants, message, show, sole

FIGURE = tomllib.loads((Path(__file__).parent / "figure.toml").read_text(encoding="utf-8"))
BOXES = FIGURE["boxes"]


@frozen
class Door:
    """The lesson that a box links to: its name, description and minutes, and the boxes of lessons it builds on."""

    lesson: str
    words: str
    minutes: int
    before: tuple[str, ...]


def body(doors: Mapping[str, Door], *, room: str) -> bytes:
    """Pack boxes, lines, labels and each box's lesson."""
    return message("body", room, FIGURE | constants("anatomy", "lesson") | {
        "doors": {box: {"words": door.words, "before": list(door.before), "minutes": door.minutes}
                  for box, door in doors.items()}})


def state(*, room: str) -> bytes:
    """Pack the state, which is empty for this figure."""
    return message("state", room, {})


def parse_event(value: object, doors: Mapping[str, Door]) -> str | None:
    """Parse a browser event, {"box": name}, and return the lesson of this box; None for anything else."""
    box = sole(value, "box")
    return doors[box].lesson if isinstance(box, str) and box in doors else None


def transformer_diagram(doors: Mapping[str, Door], *, key: str, on_open: Callable[[str], None]) -> None:
    """Draw figure 1 of Vaswani et al. 2017 and, beside it, the details of attention from figure 2.

    doors: lessons by box name; boxes without a lesson are muted. on_open: receives the lesson before the page reruns.
    """
    messages = body(doors, room=key), state(room=key)
    show("transformer_diagram", key, *messages, lambda value: parse_event(value, doors), on_open)
