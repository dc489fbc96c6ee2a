"""The open head as lines between two columns of tokens, a colour and dashes for each head: the looking side on
the left (on the right if transposed)."""
from dataclasses import replace

import numpy as np

from model.core.record import AttentionRecord
from model.core.view import DisplayedHead, View, displayed_head
from viz import theme
from viz.format import head_label
from viz.print import fonts
from viz.print.layout import (
    GAP,
    MIDDLE,
    WORDS,
    Labels,
    PicturePlan,
    draw_label,
    labels,
    pair_cell,
    pair_words,
    sum_words,
)
from viz.print.sheet import Dashes, Sheet

VECTOR = 128      # tokens a side up to which a vector file holds each line; beyond, an image
FLOOR = 0.02      # of the scale's strength: fainter lines cannot be seen
MOST = 4000       # lines in one picture: more of them are a black cloud
FADED = 0.15      # of their strength is left to the lines that do not start at the token in focus
HEADING = 16      # points over the columns
HEAD = 7.5        # points of their letters
PITCH = 16.0      # points from one token to the next, where there is room


def plan(record: AttentionRecord, view: View, raster: bool) -> PicturePlan:
    """How the lines lens will look, with every overlaid head. raster: a PNG, in which all is pixels anyway."""
    heads = [(view.layer, view.head), *view.overlay]
    return plan_of([displayed_head(record, replace(view, layer=layer, head=head)) for layer, head in heads], view,
                   raster)


def plan_of(pictures: list[DisplayedHead], view: View, raster: bool) -> PicturePlan:
    """The same of heads that are displayed already, the open one first, over the same rows and columns."""
    shown, focus = pictures[0], _focus(pictures[0], view)
    count = max(shown.weights.shape)
    step = min(PITCH, 720 / count)
    looking = labels(shown.rows, step, focus[:1])
    looked_at = labels(shown.columns, step, focus[1:])
    left, right = (looked_at, looking) if view.transpose else (looking, looked_at)
    sides = [max(names.width, fonts.width(WORDS[name], HEAD)) for names, name in zip((left, right), _headings(view))]
    between = min(260.0, max(190.0, 0.5 * count * step))
    ends, which, (colours, widths), notes = _lines(pictures, focus, view.scale)
    styles = [dashes(place) for place in range(len(pictures))]

    def paint(sheet: Sheet, x: float, y: float) -> None:
        edges = x + sides[0] + GAP, x + sides[0] + GAP + between
        points = _curves(ends[:, ::-1] if view.transpose else ends, edges, y + HEADING, step)
        sheet.curves(points, colours, widths * (0.4 + 0.6 * step / PITCH), as_image=not raster and count > VECTOR,
                     dashes=[styles[place] for place in which] or styles)
        _column(sheet, (edges[0] - GAP, y), left, step, ("right", WORDS[_headings(view)[0]]))
        _column(sheet, (edges[1] + GAP, y), right, step, ("left", WORDS[_headings(view)[1]]))

    legend = tuple((head_label(picture.layer, picture.head), colour, style)
                   for picture, colour, style in zip(pictures, theme.HEADS, styles)) if len(pictures) > 1 else ()
    orientation = f"{WORDS['right' if view.transpose else 'left']}; {sum_words(shown, WORDS['line_sums'])}"
    return PicturePlan(sum(sides) + 2 * GAP + between, HEADING + count * step, orientation,
                       (*shown.notes, *dict.fromkeys(looking.notes + looked_at.notes), *notes), view.scale, paint, None,
                       pair_words(shown, view), legend)


def _headings(view: View) -> tuple[str, str]:
    return ("looked_at", "looks") if view.transpose else ("looks", "looked_at")


def _focus(shown: DisplayedHead, view: View) -> tuple[int | None, int | None]:
    """The row in focus and the column of the pair, where they are shown."""
    pair = pair_cell(shown, view)
    return shown.row_of(view.token), pair[1] if pair and pair[0] == shown.row_of(view.token) else None


def dashes(place: int) -> Dashes:
    """Of the lines of the head at this place among those that are overlaid; the first has whole lines."""
    return 0, theme.DASHES[place % len(theme.DASHES)] or None


def line_style(force: np.ndarray, colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thicker and darker is more: RGBA (line, 4) and widths (line) in points for strengths from 0 to 1 and colours RGB
    (line, 3) from 0 to 255."""
    alpha = np.round(64 * (0.06 + 0.9 * force)) / 64   # few different ones keep a PDF small
    return np.column_stack([np.broadcast_to(colours, (len(force), 3)) / 255, alpha]), 0.4 + 2.8 * force


def _curves(ends: np.ndarray, edges: tuple[float, float], top: float, step: float) -> np.ndarray:
    """Bézier points (line, 4, xy) from the place on the left to the place on the right, level at both ends."""
    middle = sum(edges) / 2
    y = top + (ends + 0.5) * step
    return np.stack([np.broadcast_to([edges[0] + 2, middle, middle, edges[1] - 2], (len(ends), 4)),
                     y[:, [0, 0, 1, 1]]], -1)


def _lines(pictures: list[DisplayedHead], focus: tuple[int | None, int | None],
           scale: str) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], list[str]]:
    """Row and column (line, 2), whose picture's it is (line), RGBA (line, 4) and widths (line) in points, strongest
    last; and what must be said."""
    weights = np.stack([shown.weights for shown in pictures])
    strength = theme.strength(weights, scale)
    visible = strength >= FLOOR
    which, rows, columns = np.nonzero(visible)
    order = np.argsort(strength[visible], kind="stable")[-MOST:]
    which, rows, columns, force = which[order], rows[order], columns[order], strength[visible][order]
    colours, widths = line_style(force,
                                 np.array([theme.rgb(colour) for colour in theme.HEADS])[which % len(theme.HEADS)])
    if focus[0] is not None:
        colours[rows != focus[0], 3] *= FADED
    pair = (rows == focus[0]) & (columns == focus[1]) & (len(pictures) == 1)
    colours[pair] = (*np.array(theme.rgb(theme.ACCENT)) / 255, 1)
    notes = [WORDS["faint"]] if (~visible & (weights > 0)).any() else []
    if visible.sum() > MOST:
        notes.append(WORDS["most_lines"].format(count=MOST, total=int(visible.sum())))
    return np.stack([rows, columns], -1), which, (colours, widths), notes


def _column(sheet: Sheet, corner: tuple[float, float], names: Labels, step: float, how: tuple[str, str]) -> None:
    x, y = corner
    align, heading = how
    sheet.text(x, y + 6, heading, size=HEAD, colour=theme.QUIET, align=align)
    for place in names.texts:
        draw_label(sheet, x, y + HEADING + (place + 0.5) * step + names.size * MIDDLE, place, names, align=align)
