"""Draw the open head in one of three lenses: as a matrix, as lines between two columns of tokens, or as text."""
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clearhead.model.core.query import UserError, frozen
from clearhead.model.core.view import AxisItem, DisplayedHead, View
from clearhead.viz.export.paper import sheet as letters
from clearhead.viz.export.paper.page import WORDS, Paper, PicturePlan, line_style, weight_name
from clearhead.viz.export.paper.sheet import Dashes, Sheet
from clearhead.viz.style import theme
from clearhead.viz.style.format import head_label, signed_ticks, weight_ticks
from clearhead.viz.style.text import Texts

MOST = 1024       # cells per side; in longer texts, each cell represents several tokens
VECTOR = 128      # up to this many tokens per side, vector files use shapes instead of an image
SHAPES = 16_384   # most coloured cells in a handout's picture; larger matrices show the maximum of each square
MIDDLE = 0.36     # distance from the baseline to the middle of lower-case letters, as a share of the font size
GAP, NAME, NAMED = 4, 14, 7.5   # points: between a label and its row, for an axis title, and its font size
TICK, FEWEST_TICKS = 3, 2       # points: length of a tick, and the smallest distance of two
LABELS = 0.4      # largest share of the picture's width for labels
DENSE = 9         # largest number of points per token in a handout, so that three small figures fit on a page
RULED = 8         # smallest cell, in points, that is separated from others by hairlines
# lines lens: smallest visible strength, most lines that stay legible, opacity of lines outside the focus
FLOOR, LINES, FADED = 0.02, 4000, 0.15
HEADING, LETTERS, PITCH = 16, 7.5, 16.0   # lines lens, in points: above the columns, font size, between tokens
# text lens, in points: column width, line height, font size, padding of a token, gap between tokens
COLUMN, LINE, SIZE, PAD, BETWEEN = 460, 30, 10, 3, 3
NUMBERED = 0.005  # smallest weight that is written; smaller ones would round to 0.00
Box = tuple[int, int, int, int]   # left, top, width, height in cells


@frozen
class Labels:
    """The labels of an axis, thinned out if they would overlap."""

    texts: dict[int, str]          # {position: label}
    size: float                    # font size in points
    marked: frozenset[int]         # positions in the accent colour
    units: tuple[AxisItem, ...]    # the labelled rows or columns
    notes: tuple[str, ...]         # notes for the reader

    @property
    def width(self) -> float:
        """Width of the widest label in points."""
        return max((letters.width(text, self.size) for text in self.texts.values()), default=0.0)

    def ticks(self, step: float) -> np.ndarray:
        """Return (middle of the token, length of its tick) in points, (tick, 2), if labels are left out: long ticks at
        labels, short ones at the other tokens."""
        some = range(len(self.units)) if step >= FEWEST_TICKS else self.texts
        lengths = [[(place + 0.5) * step, TICK if place in self.texts else TICK / 2] for place in some]
        return np.array(lengths if len(self.texts) < len(self.units) else []).reshape(-1, 2)

    def draw(self, sheet: Sheet, x: float, y: float, place: int, **how: Any) -> None:
        """Draw one label: special tokens in grey, unknown tokens highlighted."""
        unit = self.units[place]
        colour = theme.ACCENT if place in self.marked else theme.QUIET if unit.special else theme.INK["light"]
        sheet.text(x, y, self.texts[place], size=self.size, colour=colour, face="mono",
                   fill=theme.UNKNOWN if unit.unknown else None, **how)


def labels(units: tuple[AxisItem, ...], step: float, marked: tuple[int | None, ...] = (),
           wide: float = math.inf) -> Labels:
    """Return the labels of tokens `step` points apart, cut to a share of a picture's width in points."""
    size = min(10.0, max(6.5, 0.62 * step))
    every = math.ceil((size + 1.5) / step) if step < size + 1 else 1
    accented = frozenset(place for place in marked if place is not None)
    longest = int(min(letters.LONGEST, max(3, LABELS * wide / letters.width("m", size))))
    texts = {place: letters.label(unit.text, longest) for place, unit in enumerate(units)
             if place in accented or (place % every == 0 and all(abs(place - other) >= every for other in accented))}
    notes = [WORDS("thinned", count=len(units), step=_ordinal(every))] if every > 1 else []
    if any(letters.CODE_POINT.search(text) for text in texts.values()):
        notes.append(WORDS["code_points"])
    if any(len(text) == longest and text.endswith("…") for text in texts.values()):
        notes.append(WORDS("cut", size=longest))
    return Labels(texts, size, accented, units, tuple(notes))


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def sum_words(shown: DisplayedHead, words: Texts) -> str:
    """Describe the sums of the rows after all filters, to two decimals."""
    sums = np.nansum(shown.weights, 1)
    return words["one"] if np.abs(sums - 1).max() < 0.005 else words("other", low=sums.min(), high=sums.max())


def _pair_words(shown: DisplayedHead, view: View) -> tuple[str, ...]:
    """Return the pair and its weight as separate strings, so that right-to-left tokens cannot reverse the arrow; empty
    if the pair is not displayed."""
    cell = shown.cell_of(view.pair) if view.pair else None
    if cell is None:
        return ()
    a, b = shown.rows[cell[0]], shown.columns[cell[1]]
    return letters.label(a.text), "→", letters.label(b.text), f"{shown.weights[cell]:z.3f}"


def plan_of(pictures: Sequence[DisplayedHead], view: View, bound: float | None, paper: Paper) -> PicturePlan:
    """Plan a picture of heads over the same rows and columns in the view's lens.

    pictures: the heads, the open one first. bound: the numbers are differences from −bound to bound, drawn as a matrix.
    Raises UserError for the text lens if no token is in focus.
    """
    if bound is not None or view.lens == "matrix":
        return _matrix_plan(pictures[0], view, bound, paper)
    return _lines_plan(pictures, view, paper) if view.lens == "lines" else _text_plan(pictures[0], view, paper)


def _matrix_plan(shown: DisplayedHead, view: View, bound: float | None, paper: Paper) -> PicturePlan:
    """Plan a matrix with queries as rows and keys as columns (or transposed), one cell per weight. NaN marks tokens
    that one of two compared heads lacks."""
    shapes, wide = paper.handout, paper.wide
    weights, across, down, boxes = shown.weights, shown.columns, shown.rows, _boxes(shown, view)
    forbidden = np.isnan(weights if shown.scores is None else shown.scores)
    if view.transpose:
        weights, forbidden, across, down = weights.T, forbidden.T, down, across
        boxes = [(top, left, high, wide) for left, top, wide, high in boxes]
    step = min(paper.step, _pitch(max(weights.shape)), DENSE if shapes else math.inf)
    above = labels(across, step, tuple(left for left, _, cells, _ in boxes if cells == 1), wide)
    beside = labels(down, step, tuple(top for _, top, _, cells in boxes if cells == 1), wide)
    head, side = above.width + 2 * GAP, beside.width + 2 * GAP + NAME
    width, height = len(across) * step, len(down) * step
    names = paper.titles if view.transpose else paper.titles[::-1]
    named = [letters.width(f"← {title}", NAMED, mono=False) for title in names]
    size = math.ceil(1 / step)
    while shapes and np.count_nonzero(_steps(pooled(weights, size), view.scale, bound)) > SHAPES:
        size += 1

    def paint(sheet: Sheet, x: float, y: float) -> None:
        x, y = round(x + side), round(y + NAME + head)   # whole points, so that cells align with pixels
        sheet.text(min(x, x - side + max(0.0, wide - named[0])), y - head - GAP, names[0] + " →", size=NAMED,
                   colour=theme.QUIET)
        sheet.text(x - side + NAME - GAP, y, "← " + names[1], size=NAMED, colour=theme.QUIET, angle=90, align="right")
        for place in beside.texts:
            beside.draw(sheet, x - GAP, y + (place + 0.5) * step + beside.size * MIDDLE, place, align="right")
        for place in above.texts:
            above.draw(sheet, x + (place + 0.5) * step + above.size * MIDDLE, y - GAP, place, angle=90)
        ticks = [[[x + at, y - long], [x + at, y]] for at, long in above.ticks(step)]
        ticks += [[[x - long, y + at], [x, y + at]] for at, long in beside.ticks(step)]
        sheet.strokes(np.array(ticks).reshape(-1, 2, 2), theme.QUIET, 0.4)
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
    bar, ticks, name = theme.ramp(), weight_ticks(view.scale), weight_name(view.scale)
    if bound:
        bar, ticks = theme.ramp(stops=theme.SIGNED["light"]), signed_ticks(bound)
        name = weight_name(view.scale) if shown.bound else f"{WORDS['change']}, {WORDS['scales'][view.scale]}"
    return PicturePlan(side + width, NAME + head + max(height, named[1]), WORDS[kind] + sums, notes, paint, bar,
                       ticks, name, pair=_pair_words(shown, view), signed=bool(bound))


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
    ramps = {sign: theme.ramp(stops=theme.SIGNED["light"][3::sign]) if signed else theme.ramp() for sign in (1, -1)}
    if raster:
        pixels = np.where((steps < 0)[..., None], ramps[-1][-np.minimum(steps, 0)], ramps[1][np.maximum(steps, 0)])
        pixels[forbidden & (steps == 0)] = theme.rgb(theme.FORBIDDEN["light"])
        sheet.image(x, y, width, height, pixels)
    else:
        corner = np.array([[x, y]])
        sheet.cells(corner, (wide, high), forbidden.astype(int)[None],
                    np.array([theme.rgb(theme.PAPER["light"]), theme.rgb(theme.FORBIDDEN["light"])]))
        for sign, ramp in ramps.items():
            sheet.cells(corner, (wide, high), np.maximum(sign * steps, 0)[None], ramp)
    down, across = np.nonzero(steps <= -255 * theme.STRUCK)
    if len(down) and min(wide, high) >= 4:   # strokes mark negative numbers in greyscale print
        boxes = np.stack([x + across * wide, y + down * high, x + (across + 1) * wide, y + (down + 1) * high], -1)
        dark = steps[down, across] < -128
        for which, ink in ((dark, ("#ffffff", 0.9)), (~dark, (theme.INK["light"], 0.5))):
            sheet.strike(boxes[which], ink, 0.7)
    if wide >= RULED:
        inside = [*([[x, y + row * high], [x + width, y + row * high]] for row in range(1, rows)),
                  *([[x + column * wide, y], [x + column * wide, y + height]] for column in range(1, columns))]
        sheet.strokes(np.array(inside).reshape(-1, 2, 2), (theme.INK["light"], 0.09), 0.4)
    sheet.box(x, y, width, height, edge=theme.HAIRLINE)


def _lines_plan(pictures: Sequence[DisplayedHead], view: View, paper: Paper) -> PicturePlan:
    """Plan the lines lens, with a colour and a dash style per head and queries on the left (on the right if
    transposed)."""
    shown, wide, curves = pictures[0], paper.wide, paper.raster or paper.handout
    row, cell = shown.row_of(view.token), shown.cell_of(view.pair) if view.pair else None
    focus = row, cell[1] if cell and cell[0] == row else None
    count = max(shown.weights.shape)
    step = min(paper.step, PITCH, 720 / count)
    looking, looked_at = labels(shown.rows, step, focus[:1], wide), labels(shown.columns, step, focus[1:], wide)
    left, right = (looked_at, looking) if view.transpose else (looking, looked_at)
    headings = paper.titles[::-1] if view.transpose else paper.titles
    sides = [max(names.width, letters.width(heading, LETTERS))
             for names, heading in zip((left, right), headings, strict=True)]
    between = min(260.0, max(190.0, 0.5 * count * step), wide - sum(sides) - 2 * GAP)
    ends, which, (colours, widths), notes = _lines(pictures, focus, view.scale)
    styles: list[Dashes] = [(0, theme.DASHES[place % len(theme.DASHES)] or None) for place in range(len(pictures))]

    def paint(sheet: Sheet, x: float, y: float) -> None:
        edges = x + sides[0] + GAP, x + sides[0] + GAP + between
        middle, heights = sum(edges) / 2, y + HEADING + (ends[:, ::-1] if view.transpose else ends) * step + step / 2
        points = np.stack([np.broadcast_to([edges[0] + 2, middle, middle, edges[1] - 2], (len(ends), 4)),
                           heights[:, [0, 0, 1, 1]]], -1)   # horizontal at both ends
        sheet.curves(points, colours, widths * (0.4 + 0.6 * step / PITCH), as_image=not curves and count > VECTOR,
                     dashes=[styles[place] for place in which] or styles)
        for edge, out, names, heading in ((edges[0], -1, left, headings[0]), (edges[1], 1, right, headings[1])):
            at, align = edge + out * GAP, "right" if out < 0 else "left"
            sheet.text(at, y + 6, heading, size=LETTERS, colour=theme.QUIET, align=align)
            for place in names.texts:
                names.draw(sheet, at, y + HEADING + (place + 0.5) * step + names.size * MIDDLE, place, align=align)
            ticks = [[[edge, y + HEADING + middle], [edge + out * long, y + HEADING + middle]]
                     for middle, long in names.ticks(step)]
            sheet.strokes(np.array(ticks).reshape(-1, 2, 2), theme.QUIET, 0.4)

    legend = tuple((head_label(picture.layer, picture.head), colour, style)
                   for picture, colour, style in zip(pictures, theme.HEADS, styles)) if len(pictures) > 1 else ()
    return PicturePlan(
        sum(sides) + 2 * GAP + between, HEADING + count * step,
        f"{WORDS['right' if view.transpose else 'left']}; {sum_words(shown, WORDS['line_sums'])}",
        (*shown.notes, *dict.fromkeys(looking.notes + looked_at.notes), *notes), paint, None,
        weight_ticks(view.scale), weight_name(view.scale), pair=_pair_words(shown, view), legend=legend)


def _lines(pictures: Sequence[DisplayedHead], focus: tuple[int | None, int | None],
           scale: str) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], list[str]]:
    """Return the visible lines, strongest last, and notes: row and column (line, 2), index of the head (line), (RGBA
    (line, 4), widths in points (line)), notes."""
    weights = np.stack([shown.weights for shown in pictures])
    strength = theme.strength(weights, scale)
    visible = strength >= FLOOR
    order = np.argsort(strength[visible], kind="stable")[-LINES:]
    which, rows, columns, force = (each[order] for each in (*np.nonzero(visible), strength[visible]))
    colours, widths = line_style(force, np.array([theme.rgb(colour) for colour in theme.HEADS])[which
                                                                                               % len(theme.HEADS)])
    if focus[0] is not None:
        colours[rows != focus[0], 3] *= FADED
    pair = (rows == focus[0]) & (columns == focus[1]) & (len(pictures) == 1)
    colours[pair] = (*np.array(theme.rgb(theme.ACCENT)) / 255, 1)
    notes = [WORDS["faint"]] if (~visible & (weights > 0)).any() else []
    if visible.sum() > LINES:
        notes.append(WORDS("most_lines", count=LINES, total=int(visible.sum())))
    return np.stack([rows, columns], -1), which, (colours, widths), notes


def _text_plan(shown: DisplayedHead, view: View, paper: Paper) -> PicturePlan:
    """Plan the text lens: running text with each key coloured by its weight from the token in focus. Raises UserError
    if no token is in focus."""
    row = shown.row_of(view.token if view.token is not None or view.pair is None else view.pair[0])
    if row is None:
        raise UserError("The text lens shows the weights of one token, but none is in focus; choose a token that is "
                        "shown.")
    room = paper.wide if math.isfinite(paper.wide) else COLUMN
    # a token is at most as wide as a line
    weights, names = shown.weights[row], labels(shown.columns, 22, wide=(room - 2 * PAD) / LABELS)
    spots = _flow([(letters.width(names.texts[place], SIZE), unit.joined)
                   for place, unit in enumerate(shown.columns)], room)
    colours = theme.ramp()[np.round(255 * theme.strength(weights, view.scale)).astype(int)]
    outlined = shown.column_of(view.pair[1]) if view.pair and shown.row_of(view.pair[0]) == row else None

    def paint(sheet: Sheet, x: float, y: float) -> None:
        for place, (left, top, wide) in enumerate(spots):
            unit, colour = shown.columns[place], "#{:02x}{:02x}{:02x}".format(*colours[place])
            edge, line = (theme.ACCENT, 1.2) if place == outlined else (theme.HAIRLINE, 0.5)
            sheet.box(x + left, y + top, wide, 16, fill=colour, edge=edge, line=line)
            dark = colours[place].mean() < 150
            ink = theme.PAPER["light"] if dark else theme.QUIET if unit.special else theme.INK["light"]
            sheet.text(x + left + PAD, y + top + 11.5, names.texts[place], size=SIZE, face="mono", colour=ink,
                       fill=theme.UNKNOWN if unit.unknown else None)
            if weights[place] >= NUMBERED:
                sheet.text(x + left + wide / 2, y + top + 23, f"{weights[place]:z.2f}", size=6, colour=theme.QUIET,
                           align="center")

    return PicturePlan(max(left + wide for left, _, wide in spots), spots[-1][1] + LINE - 4,
                       WORDS("text", a=letters.label(shown.rows[row].text)), (*shown.notes, *names.notes), paint,
                       theme.ramp(), weight_ticks(view.scale), weight_name(view.scale),
                       pair=_pair_words(shown, view))


def _flow(tokens: list[tuple[float, bool]], room: float) -> list[tuple[float, float, float]]:
    """Return (left, top, width) of each token's box, line by line. Tokens that continue a word directly follow their
    predecessor. tokens: (width, whether it continues a word)."""
    spots, x, y = [], float(-BETWEEN), 0.0
    for width, joined in tokens:
        x, wide = x if joined else x + BETWEEN, max(width, 8) + 2 * PAD
        if x > 0 and x + wide > room:
            x, y = 0.0, y + LINE
        spots.append((max(x, 0.0), y, wide))
        x = spots[-1][0] + wide
    return spots
