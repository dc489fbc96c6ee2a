"""The Transformer's own figure, each box a way into its lesson."""
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from viz import theme
from viz.components.component import Picture, show
from viz.components.messages import pack
from viz.text import strings

FIGURE = tomllib.loads((Path(__file__).parent / "figure.toml").read_text(encoding="utf-8"))
BOXES = FIGURE["boxes"]


@dataclass(frozen=True)
class Door:
    """What stands behind a box: the lesson, words about it, its minutes, and the boxes of the lessons it builds on."""

    lesson: str
    words: str
    minutes: int
    before: tuple[str, ...]


def body(doors: Mapping[str, Door], *, room: str) -> bytes:
    """Return the message of boxes, lines and words, and of the door behind each box."""
    return pack(constants() | {
        "room": room, "part": "body",
        "doors": {box: {"words": door.words, "before": list(door.before), "minutes": door.minutes}
                  for box, door in doors.items()}}, {})


def constants() -> dict[str, object]:
    """Return the app's own part of the body: everything that is drawn."""
    return FIGURE | {"colours": theme.COMPONENT, "text": strings("lesson")["anatomy"]}


def state(*, room: str) -> bytes:
    """Return the message of the state, of which the figure has none."""
    return pack({"room": room, "part": "state"}, {})


def parse_event(value: object, doors: Mapping[str, Door]) -> str | None:
    """Return the lesson behind the box in what a browser sent: {"box": name}; None for anything else."""
    box = value.get("box") if isinstance(value, dict) and len(value) == 1 else None
    return doors[box].lesson if isinstance(box, str) and box in doors else None


def transformer_diagram(doors: Mapping[str, Door], *, key: str, on_open: Callable[[str], None]) -> Picture:
    """Draw figure 1 of Vaswani et al. 2017, and beside it the insides of its attention, after figure 2.

    doors: by the name of the box; a box without a door is drawn quietly. on_open gets the lesson before the page runs
    again.
    """
    messages = body(doors, room=key), state(room=key)
    return show("transformer_diagram", key, *messages, lambda value: parse_event(value, doors), on_open)
