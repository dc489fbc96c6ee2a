"""The messages of a head's story and their events, without Streamlit."""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz import theme
from viz.components.messages import pack
from viz.text import strings

COLOURS = theme.COMPONENT | {"heads": theme.HEADS}
SCENES = ("vectors", "products", "scale", "softmax", "mix", "out")
LATEST_BEFORE_MIX = SCENES.index("softmax")


@dataclass(frozen=True, eq=False)
class Story:
    """One token's way through a head, as lengths and angles. Keys are those that are drawn, in the order of the text;
    where not all are, one more at the end stands for the others together, with neither place nor key nor score."""

    token: str                # the token that looks
    names: Sequence[str]      # of the keys
    places: Sequence[int]     # of the keys in the text; -1 for the others together
    query: float              # the query's length
    along: np.ndarray         # of each key, its part along the query (key)
    across: np.ndarray        # the length of its rest (key)
    dots: np.ndarray          # q · k (key)
    logits: np.ndarray        # what the softmax gets (key); -inf where the mask forbids
    weights: np.ndarray       # (key)
    values: np.ndarray        # where each value points in the plane of the mix (key, 2), the mix along the first axis
    steps: np.ndarray         # the same of weight times value (key, 2); they sum to (mix, 0)
    mix: float                # the mix's length
    # length of the stream before, of what the head adds, the angle between them in degrees; None without a trace
    stream: tuple[float, float, float] | None


def _finite(numbers: np.ndarray) -> list[float | None]:
    return [float(number) if np.isfinite(number) else None for number in numbers]


def body(story: Story, alts: Sequence[str], *, room: str, covered: bool, without: str) -> bytes:
    """The message of what stays from scene to scene. alts: what is said of each scene's picture. covered: the scenes
    from the mix on are closed. without: why the last scene has no picture, where it has none."""
    pairs = {name: getattr(story, name).tolist() for name in ("values", "steps")}
    rows = {name: _finite(getattr(story, name)) for name in ("along", "across", "dots", "logits", "weights")}
    order = np.argsort(-story.weights[np.array(story.places) >= 0], kind="stable").tolist()
    return pack({"room": room, "part": "body", "token": story.token, "names": list(story.names),
                 "places": [int(place) for place in story.places], "order": order, "query": story.query,
                 "mix": story.mix, "stream": None if story.stream is None else list(story.stream), "alts": list(alts),
                 "last": LATEST_BEFORE_MIX if covered else len(SCENES) - 1, "without": without, "colours": COLOURS,
                 "text": strings("lesson")["head_story"], **rows, **pairs}, {})


def state(scene: str, key: int, *, room: str) -> bytes:
    """The message of which scene is shown, and which key (its place in the text) is chosen."""
    return pack({"room": room, "part": "state", "scene": SCENES.index(scene), "key": int(key)}, {})


def parse_event(value: Any, places: Sequence[int]) -> dict[str, Any] | None:
    """What a browser sent: {"scene": its number} as {"scene": its name}, or {"key": a place in the text}. None for
    anything else."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    (name, at), = value.items()
    if type(at) is not int:
        return None
    if name == "scene" and 0 <= at < len(SCENES):
        return {"scene": SCENES[at]}
    return {"key": at} if name == "key" and at >= 0 and at in places else None
