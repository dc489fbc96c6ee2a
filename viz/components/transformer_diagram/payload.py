"""Where the boxes and lines of the figure stand, the messages and the event, without Streamlit.

Units are those of the drawings: the encoder and decoder are 470 × 626, the inside of attention 240 × 626. Boxes stand
by their centres. """
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viz import theme
from viz.components.messages import pack
from viz.text import strings

WIDE, HIGH = 148, 34
LEFT, RIGHT, INSIDE = 118, 342, 120     # middles of encoder, decoder and of the drawing beside them
# (box, drawing, x, y, height, colour): the same box may stand in several places
BOXES = (
    ("embedding", 0, LEFT, 560, HIGH, "pink"), ("embedding", 0, RIGHT, 560, HIGH, "pink"),
    ("positions", 0, LEFT, 510, HIGH, "none"), ("positions", 0, RIGHT, 510, HIGH, "none"),
    ("attention", 0, LEFT, 424, 44, "orange"), ("norm", 0, LEFT, 374, 26, "yellow"),
    ("feed-forward", 0, LEFT, 316, 44, "blue"),
    ("norm", 0, LEFT, 266, 26, "yellow"),
    ("masked-attention", 0, RIGHT, 424, 44, "orange"), ("norm", 0, RIGHT, 374, 26, "yellow"),
    ("cross-attention", 0, RIGHT, 316, 44, "orange"),
    ("norm", 0, RIGHT, 266, 26, "yellow"), ("feed-forward", 0, RIGHT, 208, 44, "blue"),
    ("norm", 0, RIGHT, 158, 26, "yellow"),
    ("linear", 0, RIGHT, 98, HIGH, "grey"), ("probabilities", 0, RIGHT, 48, HIGH, "green"),
    # above the encoder, where figure 1 is empty: what is built of its two halves
    ("encoder-only", 0, LEFT, 66, 26, "grey"), ("decoder-only", 0, LEFT, 104, 26, "grey"),
    ("both", 0, LEFT, 142, 26, "grey"),
    ("product", 1, INSIDE, 510, HIGH, "violet"), ("scale", 1, INSIDE, 430, HIGH, "orange"),
    ("mask", 1, INSIDE, 350, HIGH, "pink"),
    ("softmax", 1, INSIDE, 270, HIGH, "green"), ("mix", 1, INSIDE, 190, HIGH, "violet"),
    ("heads", 1, INSIDE, 118, HIGH, "grey"),
)
# (drawing, points): lines with an arrow at their end; the residual connections go round the boxes
WIRES = (
    (0, (LEFT, 606, LEFT, 577)), (0, (LEFT, 543, LEFT, 527)), (0, (LEFT, 493, LEFT, 446)), (0, (LEFT, 402, LEFT, 387)),
    (0, (LEFT, 361, LEFT, 338)),
    (0, (LEFT, 294, LEFT, 279)), (0, (LEFT, 464, 32, 464, 32, 374, 44, 374)),
    (0, (LEFT, 352, 32, 352, 32, 266, 44, 266)),
    (0, (LEFT, 253, LEFT, 226, 230, 226, 230, 316, 268, 316)),
    (0, (RIGHT, 606, RIGHT, 577)), (0, (RIGHT, 543, RIGHT, 527)), (0, (RIGHT, 493, RIGHT, 446)),
    (0, (RIGHT, 402, RIGHT, 387)),
    (0, (RIGHT, 361, RIGHT, 338)), (0, (RIGHT, 294, RIGHT, 279)), (0, (RIGHT, 253, RIGHT, 230)),
    (0, (RIGHT, 186, RIGHT, 171)),
    (0, (RIGHT, 145, RIGHT, 115)), (0, (RIGHT, 81, RIGHT, 65)), (0, (RIGHT, 31, RIGHT, 18)),
    (0, (RIGHT, 464, 428, 464, 428, 374, 416, 374)), (0, (RIGHT, 350, 428, 350, 428, 266, 416, 266)),
    (0, (RIGHT, 244, 428, 244, 428, 158, 416, 158)),
    (1, (80, 580, 80, 527)), (1, (160, 580, 160, 527)), (1, (INSIDE, 493, INSIDE, 447)),
    (1, (INSIDE, 413, INSIDE, 367)),
    (1, (INSIDE, 333, INSIDE, 287)), (1, (INSIDE, 253, INSIDE, 207)), (1, (222, 580, 222, 190, 194, 190)),
    (1, (INSIDE, 173, INSIDE, 136)), (1, (INSIDE, 101, INSIDE, 80)),
)
# (drawing, x, y, words in lesson.toml, where they are anchored)
LABELS = (
    (0, LEFT, 618, "inputs", "middle"), (0, RIGHT, 618, "outputs", "middle"), (0, RIGHT, 14, "answer", "middle"),
    (0, LEFT, 40, "families", "middle"),
    (0, 12, 346, "times", "middle"),
    (0, 452, 290, "times", "middle"), (1, 80, 596, "q", "middle"), (1, 160, 596, "k", "middle"),
    (1, 222, 596, "v", "middle"),
    (1, INSIDE, 72, "head", "middle"), (1, INSIDE, 20, "inside", "middle"), (1, INSIDE, 40, "inside_of", "middle"),
)
FRAMES = ((0, 24, 244, 190, 226), (0, 248, 136, 190, 334))    # (drawing, x, y, width, height): what stands N times


@dataclass(frozen=True)
class Door:
    """What stands behind a box: the lesson, words about it, its minutes, and the boxes of the lessons it builds on."""

    lesson: str
    words: str
    minutes: int
    before: tuple[str, ...]


def body(doors: Mapping[str, Door], *, room: str) -> bytes:
    """The message of boxes, lines and words, and of the door behind each box."""
    return pack(constants() | {
                 "room": room, "part": "body",
                 "doors": {box: {"words": door.words, "before": list(door.before), "minutes": door.minutes}
                           for box, door in doors.items()}}, {})


def constants() -> dict[str, Any]:
    """The app's own part of the body: everything that is drawn."""
    return {"wide": WIDE, "sizes": [[470, 626], [240, 626]], "boxes": [list(box) for box in BOXES],
            "wires": [[drawing, list(points)] for drawing, points in WIRES],
            "frames": [list(frame) for frame in FRAMES], "labels": [list(label) for label in LABELS],
            "colours": theme.COMPONENT, "text": strings("lesson")["anatomy"]}


def state(*, room: str) -> bytes:
    """The message of the state, of which the figure has none."""
    return pack({"room": room, "part": "state"}, {})


def parse_event(value: Any, doors: Mapping[str, Door]) -> str | None:
    """The lesson behind the box in what a browser sent: {"box": name}; None for anything else."""
    box = value.get("box") if isinstance(value, dict) and len(value) == 1 else None
    return doors[box].lesson if isinstance(box, str) and box in doors else None
