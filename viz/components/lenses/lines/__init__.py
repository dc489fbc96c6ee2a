"""Lines between two columns of tokens, with a colour and a dash style per head."""
from collections.abc import Sequence

import numpy as np

from clearhead.model.core.query import head_label
from clearhead.model.core.view import DisplayedHead, View
from clearhead.viz.components.lenses import words_of
from clearhead.viz.export.paper import sheet as letters
from clearhead.viz.export.paper.labels import GAP, labels, pair_words, sum_words
from clearhead.viz.export.paper.page import VECTOR, Paper, PicturePlan, line_style, weight_name
from clearhead.viz.export.paper.sheet import Dashes, Sheet
from clearhead.viz.style import theme
from clearhead.viz.style.format import weight_ticks

WORDS = words_of("lines")

# smallest visible strength, most lines that stay legible, opacity of lines outside the focus
FLOOR, LINES, FADED = 0.02, 4000, 0.15
HEADING, LETTERS, PITCH = 16, 7.5, 16.0   # points: above the columns, font size, between tokens


def plan(pictures: Sequence[DisplayedHead], view: View, _bound: float | None, paper: Paper) -> PicturePlan:
    """Plan the heads as lines, with queries on the left (on the right if transposed)."""
    shown, wide, curves = pictures[0], paper.wide, paper.raster or paper.handout
    row, cell = shown.row_of(view.token), shown.cell_of(view.pair) if view.pair else None
    focus = row, cell[1] if cell and cell[0] == row else None
    count = max(shown.weights.shape)
    step = min(paper.step, PITCH, 720 / count)
    looking, looked_at = labels(shown.rows, step, focus[:1], wide), labels(shown.columns, step, focus[1:], wide)
    way = -1 if view.transpose else 1
    columns = list(zip(("left", "right"), (looking, looked_at)[::way], paper.titles[::way], strict=True))
    sides = [max(names.width, letters.width(heading, LETTERS)) for _, names, heading in columns]
    between = min(260.0, max(190.0, 0.5 * count * step), wide - sum(sides) - 2 * GAP)
    ends, which, (colours, widths), notes = _lines(pictures, focus, view.scale)
    styles: list[Dashes] = [(0, theme.DASHES[place % len(theme.DASHES)] or None) for place in range(len(pictures))]

    def paint(sheet: Sheet, x: float, y: float) -> None:
        edges = x + sides[0] + GAP, x + sides[0] + GAP + between
        middle, heights = sum(edges) / 2, y + HEADING + ends[:, ::way] * step + step / 2
        points = np.stack([np.broadcast_to([edges[0] + 2, middle, middle, edges[1] - 2], (len(ends), 4)),
                           heights[:, [0, 0, 1, 1]]], -1)   # horizontal at both ends
        sheet.curves(points, colours, widths * (0.4 + 0.6 * step / PITCH), as_image=not curves and count > VECTOR,
                     dashes=[styles[place] for place in which] or styles)
        for edge, out, (side, names, heading) in zip(edges, (-1, 1), columns, strict=True):
            sheet.text(edge + out * GAP, y + 6, heading, size=LETTERS, colour=theme.QUIET,
                       align="right" if side == "left" else "left")
            names.draw(sheet, edge, y + HEADING, side)

    legend = tuple((head_label(picture.layer, picture.head), colour, style)
                   for picture, colour, style in zip(pictures, theme.HEADS, styles)) if len(pictures) > 1 else ()
    return PicturePlan(
        sum(sides) + 2 * GAP + between, HEADING + count * step,
        f"{WORDS['right' if view.transpose else 'left']}; {sum_words(shown, WORDS['line_sums'])}",
        (*shown.notes, *dict.fromkeys(looking.notes + looked_at.notes), *notes), paint, None,
        weight_ticks(view.scale), weight_name(view.scale), pair=pair_words(shown, view), legend=legend)


def _lines(pictures: Sequence[DisplayedHead], focus: tuple[int | None, int | None],
           scale: str) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], list[str]]:
    """Return the visible lines, strongest last, and notes: row and column (line, 2), index of the head (line), (RGBA
    (line, 4), widths in points (line)), notes."""
    weights = np.stack([shown.weights for shown in pictures])
    strength = theme.strength(weights, scale)
    visible = strength >= FLOOR
    order = np.argsort(strength[visible], kind="stable")[-LINES:]
    which, rows, columns, force = (each[order] for each in (*np.nonzero(visible), strength[visible]))
    palette = np.array([theme.rgb(colour) for colour in theme.HEADS])
    colours, widths = line_style(force, palette[which % len(palette)])
    if focus[0] is not None:
        colours[rows != focus[0], 3] *= FADED
    pair = (rows == focus[0]) & (columns == focus[1]) & (len(pictures) == 1)
    colours[pair] = (*np.array(theme.rgb(theme.ACCENT)) / 255, 1)
    notes = [WORDS["faint"]] if (~visible & (weights > 0)).any() else []
    if visible.sum() > LINES:
        notes.append(WORDS("most_lines", count=LINES, total=int(visible.sum())))
    return np.stack([rows, columns], -1), which, (colours, widths), notes
