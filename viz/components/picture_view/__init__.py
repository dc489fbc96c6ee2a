"""A picture with its patch grid: each patch is coloured by its weight, and a click selects a patch."""
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from clearhead.model.core.query import frozen, with_arrays
from clearhead.model.core.view import View
from clearhead.viz.components.component import Picture, Selection, constants, message, parse_selection, show
from clearhead.viz.style import glow, theme
from clearhead.viz.style.format import format_change, format_number, format_weight, signed_ticks
from clearhead.viz.style.text import strings

HEIGHT = 430   # pixels
LISTED = 8     # tokens in the table for readers who cannot see the picture, besides those without a patch
COLOURS = theme.COMPONENT | {"glow": glow.css_colours(), "below": glow.css_colours(theme.GLOW_BELOW)}
# colour scale: multiples of the uniform weight, symmetric around 0, from low to high, or no colours
KINDS = ("weight", "signed", "plain", "none")


@with_arrays
class Patches:
    """A picture as the model receives it, with its tokens."""

    picture: np.ndarray            # uint8 (height, width, 3)
    texts: tuple[str, ...]         # each token's label
    boxes: np.ndarray              # float32 (token, 4): left, top, right, bottom as shares; NaN if not a patch
    places: tuple[int, ...]        # row · columns + column of each patch; -1 for [CLS], registers and text
    grid: tuple[int, int]          # rows and columns of patches
    label: str = ""                # the picture's alternative text


@with_arrays
class PatchValues:
    """A number per token: a weight, a change, or another quantity."""

    numbers: np.ndarray            # float32 (token), NaN if missing
    name: str                      # source of the numbers: "layer 3 · head 1"
    what: str = "weight"           # the quantity
    kind: str = "weight"           # one of KINDS
    even: float | None = None      # for weights: the uniform weight
    low: float = 0.0               # for plain numbers: the number drawn without colour
    high: float = 1.0  # the number at full colour; signed numbers also use −high; for weights, a multiple of even

    @property
    def shares(self) -> np.ndarray:
        """Position of each token on the colour scale, float32 (token), −1 to 1; 0 if there is no number."""
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
        """The ticks of the colour bar, as (position, label)."""
        if self.kind == "weight":
            return glow.ticks(self.high)
        if self.kind == "signed":
            return signed_ticks(self.high)
        return [(0.0, format_number(self.low)), (1.0, format_number(self.high))]


@frozen
class PatchState:
    """The selection, which clicks change, and the drawing style."""

    focus: int | None = None             # the query token
    opacity: float = 0.8                 # opacity of the colours, 0 to 1
    hidden: tuple[int, ...] = ()         # tokens hidden as keys
    outlined: tuple[int, ...] = ()       # marked tokens
    says: str = ""                       # a sentence over the picture; "" for the default


def body(patches: Patches, *, room: str, height: int = HEIGHT, frozen: bool = False) -> bytes:
    """Pack the picture and its patches. height: maximum in pixels, or the rest of the window. frozen: disable
    selection, because without a server other tokens' rows are unavailable."""
    header = own_constants() | {
              "texts": list(patches.texts), "places": list(patches.places),
              "grid": list(patches.grid), "label": patches.label, "frozen": frozen,
              "height": height}
    return message("body", room, header, {"picture": patches.picture, "boxes": patches.boxes.astype(np.float32)})


def own_constants() -> dict[str, object]:
    """Return the part of the body that saved files omit and the app supplies: colours and texts."""
    return constants("picture") | {"colours": COLOURS}


def derived(texts: Sequence[str], values: PatchValues, focus: int | None, hidden: Sequence[int],
            says: str) -> dict[str, object]:
    """Return the part of the state that saved files omit: the colour bar's ticks and name, each token's colour step
    (−255 to 255) and facts for its tooltip, the tokens in descending order, and the sentence over the picture."""
    words, write = strings("components")["picture"], format_change if values.kind == "signed" else format_weight
    known, numbers = np.isfinite(values.numbers), values.numbers.tolist()
    written = [write(number) if there else "" for number, there in zip(numbers, known, strict=True)]
    facts = [[] if values.kind == "none" else [[values.what, text or words["nothing"]]] for text in written]
    for number, there, rows in zip(numbers, known, facts, strict=True):
        if there and values.even:
            rows.append([words["times"], f"{number / values.even:.3g} ×"])
    for token in hidden:
        facts[token] = [[values.what, words["is_hidden"]]]
    largest = [token for token in np.argsort(-np.abs(values.numbers), kind="stable").tolist() if known[token]]
    listed = ", ".join(f"{texts[token]} {written[token]}" for token in largest[:3])
    said = words("said_none" if focus is None else "said", list=listed,
                 **{"from": "" if focus is None else texts[focus]})
    return {"ticks": values.ticks, "steps": np.rint(255 * values.shares).astype(int).tolist(), "written": written,
            "facts": facts, "largest": largest[:LISTED], "sentence": says or said,
            "scale": words["legends"].get(values.kind, "").format(what=values.what)}


def state(texts: Sequence[str], values: PatchValues, shown: PatchState, *, room: str) -> bytes:
    """Pack the numbers and the selection. texts: each token's label."""
    header: Mapping[str, object] = derived(texts, values, shown.focus, shown.hidden, shown.says) | {
        "name": values.name, "what": values.what, "kind": values.kind,
        "even": values.even, "low": values.low, "high": values.high, "focus": shown.focus,
        "opacity": shown.opacity, "hidden": list(shown.hidden), "outlined": list(shown.outlined), "says": shown.says}
    return message("state", room, header, {"values": values.numbers.astype(np.float32)})


def picture_view(patches: Patches, values: PatchValues, shown: PatchState, *, height: int = HEIGHT, key: str,
                 view: View | None = None, frozen: bool = False,
                 on_event: Callable[[Selection], None] | None = None) -> Picture:
    """Draw the picture with a number per patch and return it for storage.

    height: maximum in pixels. view: the view of the head shown. frozen: disable selection. on_event: receives the
    chosen token before the page reruns.
    """
    messages = body(patches, room=key, height=height, frozen=frozen), state(patches.texts, values, shown, room=key)
    every = range(len(patches.texts))
    return show("picture_view", key, *messages, lambda value: parse_selection(value, every), on_event, view)
