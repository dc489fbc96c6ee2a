"""The picture lens: what the token in focus looks at, over the picture that the model got."""
import numpy as np

from model.core.displayed import allowed_keys, displayed_rows
from model.core.query import Hide, UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz import glow, theme
from viz.print.layout import WORDS, PicturePlan
from viz.print.sheet import Sheet

WIDE, LONGER = 420, 896   # points of the longer side on paper; pixels of it, so that edges of patches stay sharp


def plan(record: AttentionRecord, view: View, raster: bool) -> PicturePlan:
    """How the picture lens will look. Raises UserError for a record of text, and where no token is in focus."""
    if record.picture is None:
        raise UserError("The picture lens is for models that look at pictures; choose the matrix.")
    if view.token is None:
        raise UserError("The picture lens shows what one token looks at, and none is in focus; choose a token.")
    attention_map = record[view.kind]
    allowed = allowed_keys(attention_map.layer(view.layer), view.token)
    even, most = glow.even_weight(allowed), glow.most_times(int(allowed[0].sum()))
    at = [layer.index for layer in attention_map.layers].index(view.layer)
    row = displayed_rows(attention_map, view)[at][view.head]
    tokens = attention_map.keys
    boxes = np.array([(np.nan,) * 4 if box is None else box for box in tokens.boxes], np.float32)
    hidden = [edit.token for edit in record.query.edits if isinstance(edit, Hide) and edit.side == "source"]
    notes = _notes(view, [(tokens.texts[token], row[token]) for token in range(len(tokens)) if tokens.boxes[token] is None])
    return plan_of(record.picture, (boxes, glow.shares_of(row, even, most)), view.token, hidden,
                   WORDS["picture"].format(a=_name(tokens.texts[view.token], tokens.boxes[view.token] is not None)),
                   notes, most)


def plan_of(picture: np.ndarray, patches: tuple[np.ndarray, np.ndarray], focus: int | None, hidden: list[int],
            orientation: str, notes: tuple[str, ...], most: float) -> PicturePlan:
    """The same of numbers that are drawn already. patches: boxes (token, 4) and the share of the colours of each
    token."""
    boxes, shares = patches
    repeat = max(1, LONGER // max(picture.shape[:2]))
    large = picture.repeat(repeat, 0).repeat(repeat, 1)
    drawn = glow.over(large, glow.spread(shares, boxes, large.shape[:2]))
    high, wide = picture.shape[:2]
    width, height = WIDE * wide / max(high, wide), WIDE * high / max(high, wide)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        sheet.image(x, y, width, height, drawn)
        for token in hidden:
            _frame(sheet, (x, y, width, height), boxes[token], theme.INK["light"], fill=theme.INK["light"])
        if focus is not None:
            _frame(sheet, (x, y, width, height), boxes[focus], theme.ACCENT)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)

    return PicturePlan(width, height, orientation, notes, "times", paint, _bar(), times=most)


def _bar() -> np.ndarray:
    """The colours as they lie over a middle grey, uint8 (step, 3)."""
    grey = np.full((1, 256, 3), 150, np.uint8)
    return glow.over(grey, np.linspace(0, 1, 256, dtype=np.float32)[np.newaxis])[0]


def _name(text: str, patch: bool) -> str:
    return WORDS["patch"].format(place=text) if patch else text


def _notes(view: View, special: list[tuple[str, float]]) -> tuple[str, ...]:
    """What a reader must know: the weights of tokens that are no patch, and what a filter left out."""
    notes = [WORDS["beside"].format(list=", ".join(f"{text} {weight:z.3f}" for text, weight in special
                                                   if np.isfinite(weight)))] if special else []
    if view.keep < 1:
        notes.append(WORDS["kept"].format(share=view.keep))
    return tuple(notes)


def _frame(sheet: Sheet, place: tuple[float, float, float, float], box: np.ndarray, edge: str,
           fill: str | None = None) -> None:
    """A frame round a patch, if the token is one."""
    x, y, width, height = place
    if np.isfinite(box[0]):
        left, top, right, bottom = (float(side) for side in box)
        sheet.box(x + left * width, y + top * height, (right - left) * width, (bottom - top) * height, edge=edge, line=2,
                  fill=fill)
