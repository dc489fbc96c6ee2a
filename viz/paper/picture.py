"""The picture lens: what the token in focus looks at, over the picture that the model got."""
from collections.abc import Sequence

import numpy as np

from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz import glow, theme
from viz.components.picture_view import PatchValues
from viz.components.picture_view.rows import hidden_tokens, patches_of, row_of
from viz.paper.page import STRUCK, WORDS, PicturePlan
from viz.paper.sheet import Sheet
from viz.text import strings

WIDE = 420     # points of the longer side on paper
PIXELS = 896   # of that side, so that edges of patches stay sharp


def plan(record: AttentionRecord, view: View) -> PicturePlan:
    """Return how the picture lens will look. Raises UserError for a record of text, and where no token is in focus."""
    if record.picture is None:
        raise UserError("The picture lens is for models that look at pictures; choose the matrix.")
    if view.token is None:
        raise UserError("The picture lens shows what one token looks at, and none is in focus; choose a token.")
    patches, values = patches_of(record, view.kind), row_of(record, view)
    beside = ", ".join(f"{text} {weight:z.3f}"
                       for text, weight, box in zip(patches.texts, values.numbers, patches.boxes, strict=True)
                       if np.isnan(box[0]) and np.isfinite(weight))
    notes = [WORDS["beside"].format(list=beside)] if beside else []
    notes += [WORDS["kept"].format(share=view.keep)] if view.keep < 1 else []
    return plan_of(patches.picture, patches.boxes, values, focus=view.token, hidden=hidden_tokens(record), notes=notes,
                   orientation=WORDS["picture"].format(a=patches.texts[view.token]))


def plan_of(picture: np.ndarray, boxes: np.ndarray, values: PatchValues, *, focus: int | None, hidden: Sequence[int],
            orientation: str, notes: Sequence[str] = ()) -> PicturePlan:
    """Return the same of a picture, uint8 (high, wide, 3), whose tokens have boxes (token, 4) and numbers."""
    large, shares, signed = enlarged(picture), values.shares, values.kind == "signed"
    drawn = glow.over(large, glow.spread(shares, boxes, large.shape[:2]))
    high, wide = picture.shape[:2]
    width, height = WIDE * wide / max(high, wide), WIDE * high / max(high, wide)
    placed = boxes * (width, height, width, height)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        here = placed + np.array((x, y, x, y))
        sheet.image(x, y, width, height, drawn, least=1)
        _strike(sheet, here[[token for token in np.flatnonzero(shares <= -STRUCK) if token not in hidden]])
        for token in hidden:
            _frame(sheet, here[token], theme.INK["light"], theme.INK["light"])
        _strike(sheet, here[list(hidden)], crossed=True)
        if focus is not None:
            _frame(sheet, here[focus], theme.ACCENT)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)

    name = strings("components")["picture"]["legends"].get(values.kind, "{what}").format(what=values.what)
    return PicturePlan(width, height, orientation, tuple(notes), paint, bar(signed), values.ticks, name, signed=signed)


def _strike(sheet: Sheet, boxes: np.ndarray, crossed: bool = False) -> None:
    """Draw a stroke through every patch of these boxes (patch, 4), as the page has it: a second sign of what is below
    0, for print without colour. crossed: two of them, of what nobody may look at."""
    boxes = boxes[np.isfinite(boxes).all(-1)]
    if not len(boxes):
        return
    left, top, right, bottom = boxes.T
    inset = 0.22 * np.minimum(right - left, bottom - top)
    ends = np.stack([left + inset, bottom - inset, right - inset, top + inset], -1).reshape(-1, 2, 2)
    if crossed:
        ends = np.concatenate([ends, np.stack([ends[:, ::-1, 0], ends[:, :, 1]], -1)])
    sheet.strokes(ends, np.ones((1, 4)), min(1.2, 0.1 * float(inset.min()) + 0.5))


def _frame(sheet: Sheet, box: np.ndarray, edge: str, fill: str = "none") -> None:
    """Draw a frame round a patch, if the token is one."""
    if np.isfinite(box[0]):
        left, top, right, bottom = box.tolist()
        sheet.box(left, top, right - left, bottom - top, edge=edge, line=2, fill=fill)


def enlarged(picture: np.ndarray) -> np.ndarray:
    """Return the picture with about PIXELS of its longer side: of a photograph between its pixels, of a drawing by
    repeating them."""
    from PIL import Image

    high, wide = picture.shape[:2]
    times = max(1, PIXELS // max(high, wide))
    how = Image.Resampling.BICUBIC if max(high, wide) >= 96 else Image.Resampling.NEAREST
    return np.asarray(Image.fromarray(picture).resize((wide * times, high * times), how))


def bar(signed: bool = False) -> np.ndarray:
    """Return the colours as they lie over a middle grey, uint8 (step, 3)."""
    grey = np.full((1, 256, 3), 150, np.uint8)
    return glow.over(grey, np.linspace(-1 if signed else 0, 1, 256, dtype=np.float32)[np.newaxis])[0]
