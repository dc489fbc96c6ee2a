"""A matrix, with a cell per weight."""
import math
from collections.abc import Sequence

import numpy as np

from clearhead.model.core.view import DisplayedHead, View
from clearhead.viz.components.lenses import words_of
from clearhead.viz.export.paper import sheet as letters
from clearhead.viz.export.paper.labels import GAP, labels, pair_words, sum_words
from clearhead.viz.export.paper.page import VECTOR, Paper, PicturePlan, weight_name
from clearhead.viz.export.paper.sheet import Sheet
from clearhead.viz.style import theme
from clearhead.viz.style.format import signed_ticks, weight_ticks

WORDS = words_of("matrix")

MOST = 1024       # cells per side; in longer texts, each cell represents several tokens
SHAPES = 16_384   # most coloured cells in a handout's picture; larger matrices show the maximum of each square
NAME, NAMED = 14, 7.5   # points: for an axis title, and its font size
DENSE = 9         # largest number of points per token in a handout, so that three small figures fit on a page
RULED = 8         # smallest cell, in points, that is separated from others by hairlines
Box = tuple[int, int, int, int]   # left, top, width, height in cells


def plan(pictures: Sequence[DisplayedHead], view: View, bound: float | None, paper: Paper) -> PicturePlan:
    """Plan the first head as a matrix with queries as rows and keys as columns (or transposed). bound: the numbers are
    differences from −bound to bound. NaN marks tokens that one of two compared heads lacks."""
    shown, shapes, wide = pictures[0], paper.handout, paper.wide
    weights, across, down, boxes = shown.weights, shown.columns, shown.rows, _boxes(shown, view)
    forbidden, titles = np.isnan(weights if shown.scores is None else shown.scores), paper.titles[::-1]
    if view.transpose:
        weights, forbidden, across, down, titles = weights.T, forbidden.T, down, across, paper.titles
        boxes = [(top, left, high, wide) for left, top, wide, high in boxes]
    step = min(paper.step, _pitch(max(weights.shape)), DENSE if shapes else math.inf)
    above = labels(across, step, tuple(left for left, _, cells, _ in boxes if cells == 1), wide)
    beside = labels(down, step, tuple(top for _, top, _, cells in boxes if cells == 1), wide)
    head, side = above.width + 2 * GAP, beside.width + 2 * GAP + NAME
    width, height = len(across) * step, len(down) * step
    named = [letters.width(f"← {title}", NAMED, mono=False) for title in titles]
    size = math.ceil(1 / step)
    while shapes and np.count_nonzero(_steps(pooled(weights, size), view.scale, bound)) > SHAPES:
        size += 1

    def paint(sheet: Sheet, x: float, y: float) -> None:
        x, y = round(x + side), round(y + NAME + head)   # whole points, so that cells align with pixels
        sheet.text(min(x, x - side + max(0.0, wide - named[0])), y - head - GAP, titles[0] + " →", size=NAMED,
                   colour=theme.QUIET)
        sheet.text(x - side + NAME - GAP, y, "← " + titles[1], size=NAMED, colour=theme.QUIET, angle=90, align="right")
        beside.draw(sheet, x, y, "left")
        above.draw(sheet, x, y, "above")
        as_image = paper.raster or (max(weights.shape) / size > VECTOR and not shapes)
        _cells(sheet, (x, y, width, height), _steps(pooled(weights, size), view.scale, bound), pooled(forbidden, size),
               bound is not None, as_image)
        line = 1.2 if step >= 6 else 0.7
        out = 0 if step >= 6 else line / 2   # keep small cells visible inside their frame
        for left, top, *size_of in (tuple(each * step for each in box) for box in boxes):
            sheet.box(x + left - out, y + top - out, *(each + 2 * out for each in size_of), edge=theme.ACCENT,
                      line=line)

    kind = "column" if view.transpose else "row"
    notes = (*shown.notes, *dict.fromkeys(above.notes + beside.notes),
             *([WORDS("pooled", rows=size, columns=size)] if size > 1 else []))
    sums = "" if bound or not weights.any() else f"; {sum_words(shown, WORDS[kind + '_sums'])}"
    name = weight_name(view.scale, WORDS["change"]) if bound and not shown.bound else weight_name(view.scale)
    return PicturePlan(side + width, NAME + head + max(height, named[1]), WORDS[kind] + sums, notes, paint,
                       theme.ramp(stops=theme.SIGNED) if bound else theme.ramp(),
                       signed_ticks(bound) if bound else weight_ticks(view.scale), name, pair=pair_words(shown, view),
                       signed=bool(bound))


def _pitch(count: int) -> float:
    """Return the points per token: a whole number, so that cells align with pixels at any zoom, or 1/2, 1/3 … for more
    than MOST tokens."""
    if count > MOST:
        return 1 / math.ceil(count / MOST)
    return max(8, min(22, 480 // count)) if count <= 90 else max(1, 720 // count)


def _boxes(shown: DisplayedHead, view: View) -> list[Box]:
    """Return the boxes of the row in focus and of the pair's cell, if displayed."""
    row, cell = shown.row_of(view.token), shown.cell_of(view.pair) if view.pair else None
    focus = [] if row is None else [(0, row, len(shown.columns), 1)]
    return [*focus, (cell[1], cell[0], 1, 1)] if cell else focus


def pooled(cells: np.ndarray, size: int) -> np.ndarray:
    """Return the value of largest magnitude in each square of size × size cells, with NaN counted as 0."""
    if size == 1:
        return cells
    rows, columns = (math.ceil(n / size) for n in cells.shape)
    padded = np.zeros((rows * size, columns * size), cells.dtype)
    padded[:cells.shape[0], :cells.shape[1]] = np.nan_to_num(cells)
    squares = padded.reshape(rows, size, columns, size).swapaxes(1, 2).reshape(rows, columns, -1)
    return np.take_along_axis(squares, np.abs(squares).argmax(-1)[..., None], -1)[..., 0]


def _steps(weights: np.ndarray, scale: str, bound: float | None) -> np.ndarray:
    """Return each cell's colour step: 0 to 255 for weights, −255 to 255 for differences."""
    share = np.nan_to_num(weights) / (bound or 1)
    return (np.sign(share) * np.round(255 * theme.strength(np.abs(share), scale))).astype(int)


def _cells(sheet: Sheet, place: tuple[float, float, float, float], steps: np.ndarray, forbidden: np.ndarray,
           signed: bool, raster: bool) -> None:
    """Draw the cells as shapes or as pixels."""
    x, y, width, height = place
    rows, columns = steps.shape
    wide, high = width / columns, height / rows
    ramps = {sign: theme.ramp(stops=theme.SIGNED[3::sign]) if signed else theme.ramp() for sign in (1, -1)}
    if raster:
        pixels = np.where((steps < 0)[..., None], ramps[-1][-np.minimum(steps, 0)], ramps[1][np.maximum(steps, 0)])
        pixels[forbidden & (steps == 0)] = theme.rgb(theme.FORBIDDEN)
        sheet.image(x, y, width, height, pixels)
    else:
        corner = np.array([[x, y]])
        sheet.cells(corner, (wide, high), forbidden.astype(int)[None],
                    np.array([theme.rgb(theme.PAPER), theme.rgb(theme.FORBIDDEN)]))
        for sign, ramp in ramps.items():
            sheet.cells(corner, (wide, high), np.maximum(sign * steps, 0)[None], ramp)
    down, across = np.nonzero(steps <= -255 * theme.STRUCK)
    if min(wide, high) >= 4:   # strokes mark negative numbers in greyscale print
        boxes = np.stack([x + across * wide, y + down * high, x + (across + 1) * wide, y + (down + 1) * high], -1)
        dark = steps[down, across] < -128
        sheet.strike(boxes[dark], ("#ffffff", 0.9), 0.7)
        sheet.strike(boxes[~dark], (theme.INK, 0.5), 0.7)
    if wide >= RULED:
        inside = [*([[x, y + row * high], [x + width, y + row * high]] for row in range(1, rows)),
                  *([[x + column * wide, y], [x + column * wide, y + height]] for column in range(1, columns))]
        sheet.strokes(np.array(inside).reshape(-1, 2, 2), (theme.INK, 0.09), 0.4)
    sheet.box(x, y, width, height, edge=theme.HAIRLINE)
