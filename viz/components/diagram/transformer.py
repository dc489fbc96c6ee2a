"""The Transformer diagram, with a link from each box to its lesson."""
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from clearhead.model.core.query import frozen
from clearhead.viz.components.diagram import Box, diagram
from clearhead.viz.style.text import strings

FIGURE = tomllib.loads((Path(__file__).parent / "transformer.toml").read_text(encoding="utf-8"))


@frozen
class Door:
    """The lesson that a box links to: its name, description and minutes, and the boxes of lessons it builds on."""

    lesson: str
    words: str
    minutes: int
    before: tuple[str, ...]


def transformer_diagram(doors: Mapping[str, Door], *, key: str, on_open: Callable[[str], None]) -> None:
    """Draw figure 1 of Vaswani et al. 2017 and, beside it, the details of attention from figure 2.

    doors: lessons by box name; boxes without a lesson are muted. on_open: receives the lesson before the page reruns.
    """
    words = strings("lesson")["anatomy"]
    labels = [(drawing, x, y, words["labels"][name]) for drawing, x, y, name in FIGURE["labels"]]
    diagram([(words[name], *size) for name, size in zip(("figure", "inside"), FIGURE["sizes"], strict=True)],
            boxes(doors), FIGURE["wires"], frames=FIGURE["frames"], labels=labels, hint=words["hint"], key=key,
            on_open=lambda box: on_open(doors[box].lesson))


def boxes(doors: Mapping[str, Door]) -> list[Box]:
    """Return the boxes of both drawings, those of `doors` with their lessons."""
    placed, words = [], strings("lesson")["anatomy"]["boxes"]
    for name, drawing, x, y, height, colour in FIGURE["boxes"]:
        place, lines, door = (x, y, FIGURE["wide"], height), words[name], doors.get(name)
        if door is None:
            placed.append(Box(name, place, lines, f"{colour} closed", drawing=drawing))
        else:
            placed.append(Box(name, place, lines, f"{colour} door", f"{' '.join(lines)}: {door.words}", drawing,
                              door.words, f"{door.minutes}′", door.before))
    return placed
