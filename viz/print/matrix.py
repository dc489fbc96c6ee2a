"""The open head as a matrix: rows look, columns are looked at (or the other way round), one cell a weight."""
import math

import numpy as np

from model.core.record import AttentionRecord
from model.core.view import DisplayedHead, View, displayed_head
from viz import theme
from viz.print import fonts
from viz.print.layout import (
    GAP,
    MIDDLE,
    STRUCK,
    WORDS,
    Labels,
    PicturePlan,
    draw_label,
    labels,
    pair_cell,
    pair_words,
    pitch,
    sum_words,
)
from viz.print.sheet import Sheet

VECTOR = 128    # cells a side up to which a vector file holds each cell as a shape; beyond, an image
SHAPES = 16_384  # cells with a colour that a handout's picture holds; of more, the largest of each square
RULED = 8       # points a cell from which on hairlines part the cells
NAME = 14       # points that an axis' name takes
Box = tuple[int, int, int, int]   # left, top, width, height in cells


def plan(record: AttentionRecord, view: View, raster: bool) -> PicturePlan:
    """How the matrix lens will look. raster: the cells as pixels (PNG), not as shapes."""
    return plan_of([displayed_head(record, view)], view, raster)


def plan_of(pictures: list[DisplayedHead], view: View, raster: bool, bound: float | None = None,
            shapes: bool = False) -> PicturePlan:
    """The same of a head that is displayed already, the first of `pictures`. bound: its numbers are differences from
    −bound to bound; NaN is what one of the two heads does not have. shapes: no image however long the text is; where it
    has too many cells, the largest of each square."""
    shown = pictures[0]
    weights, forbidden = shown.weights, _forbidden(shown)
    across, down, boxes = shown.columns, shown.rows, _boxes(shown, view)
    if view.transpose:
        weights, forbidden, across, down = weights.T, forbidden.T, down, across
        boxes = [(top, left, high, wide) for left, top, wide, high in boxes]
    step = pitch(max(weights.shape))
    above = labels(across, step, tuple(left for left, _, wide, _ in boxes if wide == 1))
    beside = labels(down, step, tuple(top for _, top, _, high in boxes if high == 1))
    angle = 45 if min(np.diff(sorted(above.texts)), default=99) * step >= 1.5 * above.size else 90
    head = above.width * math.sin(math.radians(angle)) + 0.6 * above.size + GAP
    side = beside.width + 2 * GAP + NAME
    width, height = len(across) * step, len(down) * step
    overhang = _overhang(above, len(across), step, angle)

    size = max(math.ceil(1 / step), _size(weights, view.scale, bound) if shapes else 1)

    def paint(sheet: Sheet, x: float, y: float) -> None:
        x, y = round(x + side), round(y + NAME + head)   # whole points, so that cells fall on whole pixels
        _names(sheet, (x, y), (side, head), view.transpose)
        _letter(sheet, (x, y), above, beside, step, angle)
        as_image = raster or (max(weights.shape) / size > VECTOR and not shapes)
        _cells(sheet, (x, y, width, height), pooled(weights, size), pooled(forbidden, size), (view.scale, bound),
               as_image)
        for left, top, wide, high in boxes:
            _outline(sheet, (x, y), (left, top, wide, high), step)

    kind = "column" if view.transpose else "row"
    notes = (*shown.notes, *dict.fromkeys(above.notes + beside.notes),
             *([WORDS["pooled"].format(rows=size, columns=size)] if size > 1 else []))
    sums = "" if bound or not weights.any() else f"; {sum_words(shown, WORDS[kind + '_sums'])}"
    return PicturePlan(side + width + overhang, NAME + head + height, WORDS[kind] + sums, notes, view.scale, paint,
                       theme.ramp(stops=theme.SIGNED["light"]) if bound else theme.ramp(), pair_words(shown, view),
                       bound=bound, signed=bool(bound))


def _overhang(above: Labels, count: int, step: float, angle: int) -> float:
    """How far slanted labels reach beyond the last column."""
    shift = math.cos(math.radians(angle))
    return max(0.0, *((place + 0.5 - count) * step + (fonts.width(text, above.size) + above.size / 2) * shift
                      for place, text in above.texts.items()))


def _forbidden(shown: DisplayedHead) -> np.ndarray:
    """Where the mask lets nobody look, or where there is no number, bool (row, column)."""
    return np.isnan(shown.weights if shown.scores is None else shown.scores)


def _boxes(shown: DisplayedHead, view: View) -> list[Box]:
    """The focused row and the cell of the pair, where they are shown."""
    row, boxes = shown.row_of(view.token), []
    if row is not None:
        boxes.append((0, row, len(shown.columns), 1))
    place = pair_cell(shown, view)
    return [*boxes, (place[1], place[0], 1, 1)] if place else boxes


def pooled(cells: np.ndarray, size: int) -> np.ndarray:
    """Of each square of size × size cells the one that is largest, whatever its sign; NaN counts as nothing."""
    if size == 1:
        return cells
    rows, columns = (math.ceil(n / size) for n in cells.shape)
    padded = np.zeros((rows * size, columns * size), cells.dtype)
    padded[:cells.shape[0], :cells.shape[1]] = np.nan_to_num(cells)
    squares = padded.reshape(rows, size, columns, size).swapaxes(1, 2).reshape(rows, columns, -1)
    return np.take_along_axis(squares, np.abs(squares).argmax(-1)[..., None], -1)[..., 0]


def steps_of(weights: np.ndarray, scale: str, bound: float | None) -> np.ndarray:
    """How strong each cell's colour is, from 0 to 255; of differences from −255 to 255."""
    share = np.nan_to_num(weights) / (bound or 1)
    return (np.sign(share) * np.round(255 * theme.strength(np.abs(share), scale))).astype(int)


def _size(weights: np.ndarray, scale: str, bound: float | None) -> int:
    """How many cells a side stand for one, so that a picture of shapes has at most SHAPES of them."""
    size = 1
    while np.count_nonzero(steps_of(pooled(weights, size), scale, bound)) > SHAPES:
        size += 1
    return size


def _cells(sheet: Sheet, place: tuple[float, float, float, float], weights: np.ndarray, forbidden: np.ndarray,
           how: tuple[str, float | None], raster: bool) -> None:
    """The cells as shapes or as pixels. how: the scale, and the bound of differences."""
    x, y, width, height = place
    steps, (rows, columns) = steps_of(weights, *how), weights.shape
    size = width / columns, height / rows
    ramps = {1: theme.ramp()} if how[1] is None else {sign: theme.ramp(stops=theme.SIGNED["light"][3::sign])
                                                      for sign in (1, -1)}
    if raster:
        pixels = np.where((steps < 0)[..., None], ramps.get(-1, ramps[1])[-np.minimum(steps, 0)],
                          ramps[1][np.maximum(steps, 0)])
        pixels[forbidden & (steps == 0)] = theme.rgb(theme.FORBIDDEN)
        sheet.image(x, y, width, height, pixels)
    else:
        sheet.cells(x, y, size, forbidden.astype(int),
                    np.array([theme.rgb(theme.PAPER["light"]), theme.rgb(theme.FORBIDDEN)]))
        for sign, ramp in ramps.items():
            sheet.cells(x, y, size, np.maximum(sign * steps, 0), ramp)
    _strike(sheet, (x, y), size, steps)
    if width / columns >= RULED:
        inside = [*([[x, y + place * height / rows], [x + width, y + place * height / rows]]
                    for place in range(1, rows)),
                  *([[x + place * width / columns, y], [x + place * width / columns, y + height]]
                    for place in range(1, columns))]
        sheet.strokes(np.array(inside).reshape(-1, 2, 2),
                      np.array([[*np.array(theme.rgb(theme.INK["light"])) / 255, 0.09]]), 0.4)
    sheet.box(x, y, width, height, edge=theme.HAIRLINE)


def _strike(sheet: Sheet, corner: tuple[float, float], size: tuple[float, float], steps: np.ndarray) -> None:
    """A stroke through every negative cell that can be seen and is large enough for one: a second sign of its sign, for
    print without colour."""
    rows, columns = np.nonzero(steps <= -255 * STRUCK)
    if not len(rows) or min(size) < 4:
        return
    left, top, inset = corner[0] + columns * size[0], corner[1] + rows * size[1], 0.2 * min(size)
    ends = [[left + inset, top + size[1] - inset], [left + size[0] - inset, top + inset]]
    dark = (steps[rows, columns] < -128)[:, None]
    colours = np.where(dark, (1, 1, 1, 0.9), (*np.array(theme.rgb(theme.INK["light"])) / 255, 0.5))
    sheet.strokes(np.moveaxis(np.array(ends), -1, 0), colours, 0.7)


def _outline(sheet: Sheet, corner: tuple[float, float], box: Box, step: float) -> None:
    """A frame round some cells that leaves them visible however small they are."""
    line = 1.2 if step >= 6 else 0.7
    out = 0 if step >= 6 else line / 2
    left, top, wide, high = (each * step for each in box)
    sheet.box(corner[0] + left - out, corner[1] + top - out, wide + 2 * out, high + 2 * out, edge=theme.ACCENT,
              line=line)


def _names(sheet: Sheet, corner: tuple[float, float], room: tuple[float, float], transpose: bool) -> None:
    """Which axis looks and which is looked at."""
    across, down = (WORDS["looks"], WORDS["looked_at"]) if transpose else (WORDS["looked_at"], WORDS["looks"])
    sheet.text(corner[0], corner[1] - room[1] - GAP, across + " →", size=7.5, colour=theme.QUIET)
    sheet.text(corner[0] - room[0] + NAME - GAP, corner[1], "← " + down, size=7.5, colour=theme.QUIET, angle=90,
               align="right")


def _letter(sheet: Sheet, corner: tuple[float, float], above: Labels, beside: Labels, step: float, angle: int) -> None:
    for place in beside.texts:
        draw_label(sheet, corner[0] - GAP, corner[1] + (place + 0.5) * step + beside.size * MIDDLE, place, beside,
                   align="right")
    for place in above.texts:
        draw_label(sheet, corner[0] + (place + 0.5) * step + above.size * MIDDLE * (angle == 90), corner[1] - GAP,
                   place, above, angle=angle)
