"""The picture lens: what the token in focus looks at, over the picture that the model got."""
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.core.query import Hide, UserError
from model.core.record import AttentionRecord
from model.core.view import View, allowed_keys, displayed_rows
from viz import glow, theme
from viz.print.layout import STRUCK, WORDS, PicturePlan
from viz.print.sheet import Sheet
from viz.text import strings

WIDE = 420     # points of the longer side on paper
PIXELS = 896   # of that side, so that edges of patches stay sharp


class Colours(NamedTuple):
    """What the bar of colours says."""

    ticks: tuple[tuple[float, str], ...]   # (place on the bar, words)
    name: str                              # what it is of
    signed: bool = False                   # whether it runs from −1 to 1 instead of from 0


def plan(record: AttentionRecord, view: View, raster: bool) -> PicturePlan:
    """How the picture lens will look. Raises UserError for a record of text, and where no token is in focus."""
    if record.picture is None:
        raise UserError("The picture lens is for models that look at pictures; choose the matrix.")
    if view.token is None:
        raise UserError("The picture lens shows what one token looks at, and none is in focus; choose a token.")
    attention_map = record[view.kind]
    tokens, layer = attention_map.keys, attention_map.layer(view.layer)
    allowed = allowed_keys(layer, view.token)
    most = glow.most_times(int(allowed[0].sum()))
    row = displayed_rows(attention_map, view)[attention_map.layers.index(layer)][view.head]
    boxes = np.array([(np.nan,) * 4 if box is None else box for box in tokens.boxes], np.float32)
    hidden = [edit.token for edit in record.query.edits if isinstance(edit, Hide) and edit.side == "source"]
    place = tokens.place(view.token)
    name = tokens.texts[view.token] if place is None else WORDS["patch"].format(place="{},{}".format(*place))
    beside = [(text, float(weight)) for text, weight, box in zip(tokens.texts, row, tokens.boxes, strict=True)
              if box is None and np.isfinite(weight)]
    return plan_of(record.picture, boxes, glow.shares_of(row, glow.even_weight(allowed), most), focus=view.token,
                   hidden=hidden, orientation=WORDS["picture"].format(a=name), notes=_notes(view, beside),
                   colours=Colours(tuple(glow.ticks(most)), WORDS["times"]))


def plan_of(picture: np.ndarray, boxes: np.ndarray, shares: np.ndarray, *, focus: int | None, hidden: Sequence[int],
            orientation: str, notes: Sequence[str], colours: Colours) -> PicturePlan:
    """The same of a picture, uint8 (high, wide, 3), whose tokens have boxes (token, 4) and shares of the colours
    (token), from −1 to 1."""
    large = enlarged(picture)
    drawn = glow.over(large, glow.spread(shares, boxes, large.shape[:2]))
    high, wide = picture.shape[:2]
    width, height = WIDE * wide / max(high, wide), WIDE * high / max(high, wide)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        sheet.image(x, y, width, height, drawn, least=1)
        below = [token for token in np.flatnonzero(shares <= -STRUCK) if token not in hidden]
        _strike(sheet, (x, y, width, height), boxes[below])
        for token in hidden:
            _frame(sheet, (x, y, width, height), boxes[token], theme.INK["light"], fill=theme.INK["light"])
        _strike(sheet, (x, y, width, height), boxes[list(hidden)], crossed=True)
        if focus is not None:
            _frame(sheet, (x, y, width, height), boxes[focus], theme.ACCENT)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)

    name = strings("components")["picture"]["legends"]["signed"].format(what=colours.name)
    return PicturePlan(width, height, orientation, tuple(notes), "linear", paint, bar(colours.signed),
                       ticks=colours.ticks, bar_name=name if colours.signed else colours.name, signed=colours.signed)


def _strike(sheet: Sheet, place: tuple[float, float, float, float], boxes: np.ndarray, crossed: bool = False) -> None:
    """A stroke through every patch of these boxes (patch, 4), as the page has it: a second sign of what is below 0, for
    print without colour. crossed: two of them, of what nobody may look at."""
    boxes = boxes[np.isfinite(boxes).all(-1)] if len(boxes) else boxes
    if not len(boxes):
        return
    x, y, width, height = place
    left, top, right, bottom = (boxes * (width, height, width, height) + (x, y, x, y)).T
    inset = 0.22 * np.minimum(right - left, bottom - top)
    ends = np.stack([left + inset, bottom - inset, right - inset, top + inset], -1).reshape(-1, 2, 2)
    if crossed:
        ends = np.concatenate([ends, np.stack([ends[:, ::-1, 0], ends[:, :, 1]], -1)])
    sheet.strokes(ends, np.ones((1, 4)), min(1.2, 0.1 * float(inset.min()) + 0.5))


def enlarged(picture: np.ndarray) -> np.ndarray:
    """The picture with about PIXELS of its longer side: of a photograph between its pixels, of a drawing by repeating
    them."""
    from PIL import Image

    high, wide = picture.shape[:2]
    times = max(1, PIXELS // max(high, wide))
    how = Image.Resampling.BICUBIC if max(high, wide) >= 96 else Image.Resampling.NEAREST
    return np.asarray(Image.fromarray(picture).resize((wide * times, high * times), how))


def bar(signed: bool = False) -> np.ndarray:
    """The colours as they lie over a middle grey, uint8 (step, 3)."""
    grey = np.full((1, 256, 3), 150, np.uint8)
    return glow.over(grey, np.linspace(-1 if signed else 0, 1, 256, dtype=np.float32)[np.newaxis])[0]


def _notes(view: View, beside: list[tuple[str, float]]) -> list[str]:
    """What a reader must know: the weights of tokens that are no patch, and what a filter left out."""
    weights = ", ".join(f"{text} {weight:z.3f}" for text, weight in beside)
    notes = [WORDS["beside"].format(list=weights)] if beside else []
    return [*notes, WORDS["kept"].format(share=view.keep)] if view.keep < 1 else notes


def _frame(sheet: Sheet, place: tuple[float, float, float, float], box: np.ndarray, edge: str,
           fill: str = "none") -> None:
    """A frame round a patch, if the token is one."""
    x, y, width, height = place
    if np.isfinite(box[0]):
        left, top, right, bottom = (float(side) for side in box)
        sheet.box(x + left * width, y + top * height, (right - left) * width, (bottom - top) * height, edge=edge,
                  line=2, fill=fill)
