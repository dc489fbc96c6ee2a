"""Draw the picture lens: the weights of the token in focus over the model's input picture."""
import math
from collections.abc import Sequence

import numpy as np

from clearhead.model.core.query import UserError, isolated
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.components.picture_view import PatchValues
from clearhead.viz.components.picture_view.rows import hidden_tokens, patches_of, row_of
from clearhead.viz.export.paper.page import NO_PICTURE, STRUCK, WORDS, PicturePlan
from clearhead.viz.export.paper.sheet import Sheet
from clearhead.viz.style import glow, theme
from clearhead.viz.style.text import strings

WIDE = 420     # longer side in print, in points
PIXELS = 896   # approximate longer side in pixels, so that patch edges stay sharp


def plan(record: AttentionRecord, view: View, step: float = math.inf) -> PicturePlan:
    """Plan the picture lens. step: most points per patch. Raises UserError for a record of text or if no token is in
    focus."""
    if record.picture is None:
        raise UserError(NO_PICTURE)
    if view.token is None:
        raise UserError("The picture lens shows the weights of one token, but none is in focus; choose a token.")
    patches, values = patches_of(record, view.kind), row_of(record, view)
    beside = ", ".join(f"{isolated(text)} {weight:z.3f}"
                       for text, weight, box in zip(patches.texts, values.numbers, patches.boxes, strict=True)
                       if np.isnan(box[0]) and np.isfinite(weight))
    notes = [WORDS("beside", list=beside)] if beside else []
    notes += [WORDS("kept", share=view.keep)] if view.keep < 1 else []
    return plan_of(patches.picture, patches.boxes, values, focus=view.token, hidden=hidden_tokens(record), notes=notes,
                   orientation=WORDS("picture", a=patches.texts[view.token]),
                   most=step * max(patches.grid))


def plan_of(picture: np.ndarray, boxes: np.ndarray, values: PatchValues, *, focus: int | None, hidden: Sequence[int],
            orientation: str, notes: Sequence[str] = (), most: float = WIDE) -> PicturePlan:
    """Plan the picture lens. picture: uint8 (height, width, 3). boxes: the tokens' boxes, (token, 4). values: the
    tokens' numbers. focus: the query token. hidden: tokens hidden as keys. most: points of
    the longer side at most."""
    large, shares, signed = enlarged(picture), values.shares, values.kind == "signed"
    drawn = glow.over(large, glow.spread(shares, boxes, large.shape[:2]))
    high, wide = picture.shape[:2]
    size = min(WIDE, most) / max(high, wide)
    width, height = size * wide, size * high
    placed = boxes * (width, height, width, height)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        here = placed + np.array((x, y, x, y))
        sheet.image(x, y, width, height, drawn, least=1)
        patches = np.isfinite(placed[:, 0])
        covered = patches & np.isin(np.arange(len(placed)), hidden)
        sheet.strike(here[patches & ~covered & (shares <= -STRUCK)], "#ffffff", 1)
        for box in here[covered]:
            _frame(sheet, box, theme.INK["light"], theme.INK["light"])
        sheet.strike(here[covered], "#ffffff", 1, crossed=True)
        if focus is not None:
            _frame(sheet, here[focus], theme.ACCENT)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)

    name = strings("components")["picture"]["legends"].get(values.kind, "{what}").format(what=values.what)
    return PicturePlan(width, height, orientation, tuple(notes), paint, bar(signed), values.ticks, name, signed=signed)


def _frame(sheet: Sheet, box: np.ndarray, edge: str, fill: str = "none") -> None:
    """Draw a frame around a token's box if the token is a patch."""
    if np.isfinite(box[0]):
        left, top, right, bottom = box.tolist()
        sheet.box(left, top, right - left, bottom - top, edge=edge, line=2, fill=fill)


def enlarged(picture: np.ndarray) -> np.ndarray:
    """Enlarge the picture to about PIXELS on its longer side, with interpolation for photographs and by repeating
    pixels for small drawings."""
    from PIL import Image

    high, wide = picture.shape[:2]
    times = max(1, PIXELS // max(high, wide))
    how = Image.Resampling.BICUBIC if max(high, wide) >= 96 else Image.Resampling.NEAREST
    return np.asarray(Image.fromarray(picture).resize((wide * times, high * times), how))


def bar(signed: bool = False) -> np.ndarray:
    """Return the colour bar as seen over a medium grey, uint8 (step, 3)."""
    grey = np.full((1, 256, 3), 150, np.uint8)
    return glow.over(grey, np.linspace(-1 if signed else 0, 1, 256, dtype=np.float32)[np.newaxis])[0]
