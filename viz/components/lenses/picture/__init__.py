"""Numbers over the patches of the model's input picture. Its drawing in the browser is a component, picture_view."""
from typing import TYPE_CHECKING

import numpy as np

from clearhead.viz.components.lenses import words_of
from clearhead.viz.export.paper.page import Paper, PicturePlan
from clearhead.viz.export.paper.sheet import Sheet, readable
from clearhead.viz.style import glow, theme
from clearhead.viz.style.text import strings

if TYPE_CHECKING:
    from clearhead.viz.components.picture import Image

WIDE = 420     # longer side in print, in points
PIXELS = 896   # approximate longer side in pixels, so that patch edges stay sharp


def plan(shown: "Image", paper: Paper) -> PicturePlan:
    """Plan an image, which is one in any file."""
    patches, values, focus, hidden = shown.patches, shown.values, shown.focus, shown.hidden
    picture = patches.picture
    large, shares, signed = enlarged(picture), values.shares, values.kind == "signed"
    drawn = glow.over(large, glow.spread(shares, patches.boxes, large.shape[:2]))
    high, wide = picture.shape[:2]
    least = np.nanmin(patches.boxes[:, 2:] - patches.boxes[:, :2])
    size = min(WIDE, paper.step / least) / max(high, wide)
    width, height = size * wide, size * high
    placed = patches.boxes * (width, height, width, height)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        here = placed + np.array((x, y, x, y))
        sheet.image(x, y, width, height, drawn, least=1)
        inside = np.isfinite(placed[:, 0])
        covered = inside & np.isin(np.arange(len(placed)), hidden)
        sheet.strike(here[inside & ~covered & (shares <= -theme.STRUCK)], "#ffffff", 1)
        for box in here[covered]:
            _frame(sheet, box, theme.INK, theme.INK)
        sheet.strike(here[covered], "#ffffff", 1, crossed=True)
        if focus is not None:
            _frame(sheet, here[focus], theme.ACCENT)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)

    what = readable(values.what, mono=False)
    name = strings("components")["picture"]["legends"].get(values.kind, "{what}").format(what=what)
    orientation = "" if focus is None else words_of("picture")("colour", a=patches.texts[focus])
    notes = () if paper.handout else shown.notes
    return PicturePlan(width, height, orientation, notes, paint, bar(signed), values.ticks, name, signed=signed)


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
