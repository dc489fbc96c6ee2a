"""An animation of how a decoder processes a text, on one screen, from letters to the next word. It can be stopped at
any point, and each part links to its lesson."""
from collections.abc import Callable, Sequence

import numpy as np

from clearhead.model.core.query import frozen, with_arrays
from clearhead.viz.components.component import constants, show_here

# in order; each step adds a part to the picture
STEPS = ("letters", "pieces", "vectors", "places", "attention", "feed_forward", "blocks", "logits", "softmax", "word")
PARTS = (*STEPS[:3], "vectors", *STEPS[4:7], "output", "output", "output")   # the part that each step belongs to
SECONDS = 6           # seconds per step when playing: a minute in total
ROWS, CELLS = 16, 12  # limits on the pieces drawn and on the numbers drawn per vector


@frozen
class Step:
    """A step with its explanation and its lesson."""

    title: str    # one or two words
    say: str      # one sentence about this text
    lesson: str   # page name of the lesson
    door: str     # the lesson's title


@with_arrays
class Scene:
    """Everything that is drawn, for T pieces and N blocks of h heads. The animation follows the last piece."""

    # the text as (letters, whether they belong to a piece); spaces between pieces do not
    line: tuple[tuple[str, bool], ...]
    pieces: tuple[str, ...]              # (T)
    ids: tuple[int, ...]                 # (T)
    embedded: np.ndarray                 # float32 (T, CELLS): the first numbers of each vector
    placed: np.ndarray                   # float32 (T, CELLS): the same numbers with positions added
    rows: np.ndarray                     # float32 (N, h, T): weights of the last piece
    opened: tuple[int, int]              # block and head; −1 for the mean of its heads
    percent: Callable[[float], str]      # formats a share
    marks: np.ndarray                    # float32 (N, h), 0 to 1: each head's shade in the list of blocks
    added: np.ndarray                    # float32 (N, 2): norms of the updates by attention and feed-forward
    neurons: np.ndarray                  # float32 (d_ff): activations in the open block
    words: tuple[str, ...]               # the most probable next pieces
    numbers: tuple[int, ...]             # their ids
    logits: tuple[float, ...]
    chances: tuple[float, ...]
    rest: str                            # text about all other pieces, or ""
    width: int                           # d_model
    again: str                           # label of the button that writes the first word, or ""
    steps: tuple[Step, ...]              # in the order of STEPS
    alt: str                             # description of the picture


@frozen
class Event:
    """The reader's choice. Exactly one of the three is set."""

    lesson: str | None = None              # a page name
    write: int | None = None               # the id of a piece
    opened: tuple[int, int] | None = None  # a block, and a head or −1


def parts(scene: Scene) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Return (header, arrays) of a scene, limited to the last ROWS pieces and the open head's weights."""
    first = max(0, len(scene.pieces) - ROWS)
    block, head = scene.opened
    weights = scene.rows[block].mean(0) if head < 0 else scene.rows[block, head]
    bound = float(np.abs(np.concatenate([scene.embedded[first:], scene.placed[first:]])).max())
    header = {
        "alt": scene.alt, "line": scene.line,
        "pieces": scene.pieces[first:], "ids": scene.ids[first:], "first": first,
        "early": float(weights[:first].sum()), "earlier": scene.percent(float(weights[:first].sum())),
        "shares": [scene.percent(float(weight)) for weight in weights[first:]], "opened": scene.opened,
        "shape": scene.rows.shape[:2], "words": scene.words, "numbers": scene.numbers,
        "logits": scene.logits, "scores": [f"{logit:z.2f}".replace("-", "−") for logit in scene.logits],
        "chances": scene.chances, "written": [scene.percent(chance) for chance in scene.chances],
        "rest": scene.rest, "width": scene.width, "again": scene.again, "bound": bound or 1.0,
        "steps": [[name, step.title, step.say, step.lesson, step.door]
                  for name, step in zip(STEPS, scene.steps, strict=True)]}
    arrays = {"embedded": scene.embedded[first:], "placed": scene.placed[first:], "weights": weights[first:],
              "marks": scene.marks, "added": scene.added, "neurons": scene.neurons}
    return header, {name: array.astype(np.float32) for name, array in arrays.items()}


def parse_event(value: object, scene: Scene) -> Event | None:
    """Parse a browser event: {"lesson": name}, {"write": id} or {"opened": [block, head]}; None for anything else."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    name, chosen = next(iter(value.items()))
    if name == "lesson" and isinstance(chosen, str) and chosen in {step.lesson for step in scene.steps}:
        return Event(lesson=chosen)
    if name == "write" and type(chosen) is int and scene.again and chosen in scene.numbers:
        return Event(write=chosen)
    if name == "opened" and _is_head(chosen, scene.rows.shape):
        return Event(opened=(chosen[0], chosen[1]))
    return None


def _is_head(chosen: object, shape: Sequence[int]) -> bool:
    return (isinstance(chosen, list) and len(chosen) == 2 and all(type(each) is int for each in chosen)
            and 0 <= chosen[0] < shape[0] and -1 <= chosen[1] < shape[1])


def story(scene: Scene, *, key: str, on_event: Callable[[Event], None]) -> None:
    """Draw the scene and play it. on_event: receives the reader's choice before the page reruns."""
    header, arrays = parts(scene)
    show_here("story", key, constants("story") | {"seconds": SECONDS, "parts": PARTS} | header, {},
              lambda value: parse_event(value, scene), on_event, arrays)
