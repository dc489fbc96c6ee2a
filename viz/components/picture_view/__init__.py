"""A picture under its patch grid: each patch in the colour of its weight, a click on one chooses it."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from model.core.view import View
from viz import glow, theme
from viz.components.component import Picture, show
from viz.components.messages import pack
from viz.text import strings

HEIGHT = 430   # pixels
COLOURS = theme.COMPONENT | {"glow": glow.css_colours(), "below": glow.css_colours(theme.GLOW_BELOW)}
LOOKS = ("blocky", "smooth")
KINDS = ("weight", "signed", "plain", "none")   # coloured by times an even row, about 0, from low to high, not at all


@dataclass(frozen=True, eq=False)
class Patches:
    """A picture as the model gets it, and which token is which part of it."""

    picture: np.ndarray            # uint8 (high, wide, 3)
    texts: tuple[str, ...]         # what each token is called
    boxes: np.ndarray              # float32 (token, 4): left, top, right, bottom as shares; NaN without a box
    places: tuple[int, ...]        # row · columns + column of each patch; -1 of [CLS], registers and text
    grid: tuple[int, int]          # rows and columns of patches
    label: str = ""                # what the picture is, for those who do not see it


@dataclass(frozen=True, eq=False)
class PatchValues:
    """A number for each token: a weight, a change of one, or anything else that patches have."""

    numbers: np.ndarray            # float32 (token); NaN where there is none
    name: str                      # what they are of: "layer 3 · head 1"
    what: str = "weight"           # one number, in words
    kind: str = "weight"           # of KINDS
    even: float | None = None      # of weights: what each key would have if the row were even
    low: float = 0.0               # of plain numbers: the one without colour
    high: float = 1.0              # the one with all of it; of signed ones also of −high; of weights in times even

    @property
    def shares(self) -> np.ndarray:
        """How much of the colours each token has, float32 (token), −1 to 1; 0 where there is no number."""
        numbers = np.nan_to_num(self.numbers)
        if self.kind == "weight":
            return glow.shares_of(self.numbers, self.even or 1.0, self.high)
        span = self.high if self.kind == "signed" else self.high - self.low
        if self.kind == "none" or span <= 0:
            return np.zeros(len(numbers), np.float32)
        away = numbers if self.kind == "signed" else np.where(np.isnan(self.numbers), 0, numbers - self.low)
        return np.clip(away / span, -1 if self.kind == "signed" else 0, 1).astype(np.float32)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(place on the bar of the colours, words)."""
        if self.kind == "weight":
            return glow.ticks(self.high)
        if self.kind == "signed":
            return [(0.0, f"−{self.high:.3g}"), (0.5, "0"), (1.0, f"+{self.high:.3g}")]
        return [(0.0, f"{self.low:.3g}"), (1.0, f"{self.high:.3g}")]


@dataclass(frozen=True)
class PatchState:
    """What a click changes, and how it is drawn."""

    focus: int | None = None             # the token that looks
    look: str = "blocky"                 # one of LOOKS
    opacity: float = 0.8                 # of the colours, 0 to 1
    hidden: tuple[int, ...] = ()         # tokens that nobody may look at
    outlined: tuple[int, ...] = ()       # tokens that are marked
    says: str = ""                       # a sentence over the picture; "" for one that the component makes


@dataclass(frozen=True)
class PatchEvent:
    """The token that somebody chose; None where it was cleared."""

    token: int | None


def body(patches: Patches, *, room: str, height: int = HEIGHT, frozen: bool = False) -> bytes:
    """Return the message of the picture and its patches. height: pixels, at most, or the rest of the window. frozen:
    nothing can be chosen, as no server has the row of another token."""
    header = constants() | {
              "room": room, "part": "body", "texts": list(patches.texts), "places": list(patches.places),
              "grid": list(patches.grid), "label": patches.label, "frozen": frozen,
              "height": height}
    return pack(header, {"picture": patches.picture, "boxes": patches.boxes.astype(np.float32)})


def constants() -> dict[str, object]:
    """Return the app's own part of the body: colours and words, which no file brings."""
    return {"colours": COLOURS, "text": strings("components")["picture"]}


def colouring(values: PatchValues) -> dict[str, object]:
    """Return the ticks of the bar of colours, and the colour of each token, −255 to 255."""
    return {"ticks": values.ticks, "steps": np.rint(255 * values.shares).astype(int).tolist()}


def state(values: PatchValues, shown: PatchState, *, room: str) -> bytes:
    """Return the message of the numbers and what is chosen."""
    header: Mapping[str, object] = colouring(values) | {
        "room": room, "part": "state", "name": values.name, "what": values.what, "kind": values.kind,
        "even": values.even, "low": values.low, "high": values.high, "focus": shown.focus, "look": shown.look,
        "opacity": shown.opacity, "hidden": list(shown.hidden), "outlined": list(shown.outlined), "says": shown.says}
    return pack(header, {"values": values.numbers.astype(np.float32)})


def parse_event(value: object, count: int) -> PatchEvent | None:
    """Return the event in what a browser sent: {"token": position or null}; None for anything else."""
    if not isinstance(value, dict) or set(value) != {"token"}:
        return None
    token = value["token"]
    return PatchEvent(token) if token is None or (type(token) is int and 0 <= token < count) else None


def picture_view(patches: Patches, values: PatchValues, shown: PatchState, *, height: int = HEIGHT, key: str,
                 view: View | None = None, frozen: bool = False,
                 on_event: Callable[[PatchEvent], None] | None = None) -> Picture:
    """Draw the picture with a number a patch and returns it, for whoever keeps pictures.

    height: pixels, at most. view: the head that it shows. frozen: nothing can be chosen in it. on_event gets the token
    that was chosen before the page runs again.
    """
    messages = body(patches, room=key, height=height, frozen=frozen), state(values, shown, room=key)
    return show("picture_view", key, *messages, lambda value: parse_event(value, len(patches.texts)), on_event, view)
