"""The open head as a matrix: rows look, columns are looked at (or the other way round), one cell a weight."""
import math

import numpy as np

from model.displayed import Shown, displayed
from model.record import AttentionRecord
from model.view import View
from viz import theme
from viz.export.draw import lettering
from viz.export.draw.plan import GAP, MIDDLE, SAID, Labels, Plan, labels, letter, pair_of, pitch, said_pair, said_sums
from viz.export.draw.sheet import Sheet

VECTOR = 128    # cells a side up to which a vector file holds each cell as a shape; beyond, an image
RULED = 8       # points a cell from which on hairlines part the cells
NAME = 14       # points that an axis' name takes
Box = tuple[int, int, int, int]   # left, top, width, height in cells


def plan(record: AttentionRecord, view: View, raster: bool) -> Plan:
    """How the matrix lens will look. raster: the cells as pixels (PNG), not as shapes."""
    return plan_of([displayed(record, view)], view, raster)


def plan_of(pictures: list[Shown], view: View, raster: bool, bound: float | None = None) -> Plan:
    """The same of a head that is displayed already, the first of `pictures`. bound: its numbers are differences from −bound to bound, drawn as
    shapes; NaN is what one of the two heads does not have."""
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

    def paint(sheet: Sheet, x: float, y: float) -> None:
        x, y = round(x + side), round(y + NAME + head)   # whole points, so that cells fall on whole pixels
        _names(sheet, (x, y), (side, head), view.transpose)
        _letter(sheet, (x, y), above, beside, step, angle)
        _cells(sheet, (x, y, width, height), pooled(weights, step), pooled(forbidden, step), bound or view.scale, raster)
        for left, top, wide, high in boxes:
            _outline(sheet, (x, y), (left, top, wide, high), step)

    kind = "column" if view.transpose else "row"
    size = math.ceil(1 / step)
    notes = (*shown.notes, *dict.fromkeys(above.notes + beside.notes), *([SAID["pooled"].format(rows=size, columns=size)] if size > 1 else []))
    sums = "" if bound else f"; {said_sums(shown, SAID[kind + '_sums'])}"
    return Plan(side + width + overhang, NAME + head + height, SAID[kind] + sums, notes, view.scale, paint,
                theme.ramp(stops=theme.SIGNED["light"]) if bound else theme.ramp(), said_pair(shown, view), bound=bound)


def _overhang(above: Labels, count: int, step: float, angle: int) -> float:
    """How far slanted labels reach beyond the last column."""
    shift = math.cos(math.radians(angle))
    return max(0.0, *((place + 0.5 - count) * step + (lettering.width(text, above.size) + above.size / 2) * shift
                      for place, text in above.texts.items()))


def _forbidden(shown: Shown) -> np.ndarray:
    """Where the mask lets nobody look, or where there is no number, bool (row, column)."""
    return np.isnan(shown.weights if shown.scores is None else shown.scores)


def _boxes(shown: Shown, view: View) -> list[Box]:
    """The focused row and the cell of the pair, where they are shown."""
    row, boxes = shown.row_of(view.token), []
    if row is not None:
        boxes.append((0, row, len(shown.columns), 1))
    place = pair_of(shown, view)
    return [*boxes, (place[1], place[0], 1, 1)] if place else boxes


def pooled(cells: np.ndarray, step: float) -> np.ndarray:
    """The largest of each square of cells, where a cell would be smaller than a point."""
    size = math.ceil(1 / step)
    if size == 1:
        return cells
    rows, columns = (math.ceil(n / size) for n in cells.shape)
    padded = np.zeros((rows * size, columns * size), cells.dtype)
    padded[:cells.shape[0], :cells.shape[1]] = cells
    return padded.reshape(rows, size, columns, size).max((1, 3))


def _cells(sheet: Sheet, place: tuple[float, float, float, float], weights: np.ndarray, forbidden: np.ndarray, scale: str | float,
           raster: bool) -> None:
    """The cells as shapes or as pixels. scale: its name, or the bound of differences, which are drawn as shapes."""
    x, y, width, height = place
    signed = not isinstance(scale, str)
    bound, named = (1.0, scale) if isinstance(scale, str) else (scale, "linear")
    share = np.nan_to_num(weights) / bound
    ramps = [(sign, theme.ramp(stops=theme.SIGNED["light"][3::sign])) for sign in (1, -1)] if signed else [(1, theme.ramp())]
    if raster or (max(weights.shape) > VECTOR and not signed):
        steps = np.round(255 * theme.strength(share, named)).astype(int)
        pixels = theme.ramp()[steps]
        pixels[forbidden & (steps == 0)] = theme.rgb(theme.FORBIDDEN)
        sheet.image(x, y, width, height, pixels)
    else:
        size = width / weights.shape[1], height / weights.shape[0]
        sheet.cells(x, y, size, forbidden.astype(int), np.array([theme.rgb(theme.PAPER["light"]), theme.rgb(theme.FORBIDDEN)]))
        for sign, ramp in ramps:
            sheet.cells(x, y, size, np.round(255 * theme.strength(sign * share, named)).astype(int), ramp)
    rows, columns = weights.shape
    if width / columns >= RULED:
        inside = [*([[x, y + place * height / rows], [x + width, y + place * height / rows]] for place in range(1, rows)),
                  *([[x + place * width / columns, y], [x + place * width / columns, y + height]] for place in range(1, columns))]
        sheet.strokes(np.array(inside).reshape(-1, 2, 2), np.array([[*np.array(theme.rgb(theme.INK["light"])) / 255, 0.09]]), 0.4)
    sheet.box(x, y, width, height, edge=theme.HAIRLINE)


def _outline(sheet: Sheet, corner: tuple[float, float], box: Box, step: float) -> None:
    """A frame round some cells that leaves them visible however small they are."""
    line = 1.2 if step >= 6 else 0.7
    out = 0 if step >= 6 else line / 2
    left, top, wide, high = (each * step for each in box)
    sheet.box(corner[0] + left - out, corner[1] + top - out, wide + 2 * out, high + 2 * out, edge=theme.ACCENT, line=line)


def _names(sheet: Sheet, corner: tuple[float, float], room: tuple[float, float], transpose: bool) -> None:
    """Which axis looks and which is looked at."""
    across, down = (SAID["looks"], SAID["looked_at"]) if transpose else (SAID["looked_at"], SAID["looks"])
    sheet.text(corner[0], corner[1] - room[1] - GAP, across + " →", size=7.5, colour=theme.QUIET)
    sheet.text(corner[0] - room[0] + NAME - GAP, corner[1], "← " + down, size=7.5, colour=theme.QUIET, angle=90, align="right")


def _letter(sheet: Sheet, corner: tuple[float, float], above: Labels, beside: Labels, step: float, angle: int) -> None:
    for place in beside.texts:
        letter(sheet, corner[0] - GAP, corner[1] + (place + 0.5) * step + beside.size * MIDDLE, place, beside, align="right")
    for place in above.texts:
        letter(sheet, corner[0] + (place + 0.5) * step + above.size * MIDDLE * (angle == 90), corner[1] - GAP, place, above, angle=angle)
