"""Running text, with each key coloured by its weight from the token in focus."""
import math
from collections.abc import Sequence

import numpy as np

from clearhead.model.core.query import UserError
from clearhead.model.core.view import DisplayedHead, View
from clearhead.viz.components.lenses import words_of
from clearhead.viz.export.paper import sheet as letters
from clearhead.viz.export.paper.labels import SHARE, labels, pair_words
from clearhead.viz.export.paper.page import Paper, PicturePlan, weight_name
from clearhead.viz.export.paper.sheet import Sheet
from clearhead.viz.style import theme
from clearhead.viz.style.format import weight_ticks

WORDS = words_of("text")

# points: column width, line height, font size, padding of a token, gap between tokens
COLUMN, LINE, SIZE, PAD, BETWEEN = 460, 30, 10, 3, 3
NUMBERED = 0.005  # smallest weight that is written; smaller ones would round to 0.00


def plan(pictures: Sequence[DisplayedHead], view: View, _bound: float | None, paper: Paper) -> PicturePlan:
    """Plan the first head's text. Raises UserError if no token is in focus."""
    shown = pictures[0]
    row = shown.row_of(view.token if view.token is not None or view.pair is None else view.pair[0])
    if row is None:
        raise UserError("The text lens shows the weights of one token, but none is in focus; choose a token that is "
                        "shown.")
    room = paper.wide if math.isfinite(paper.wide) else COLUMN
    # a token is at most as wide as a line
    weights, names = shown.weights[row], labels(shown.columns, 22, wide=(room - 2 * PAD) / SHARE)
    spots = _flow([(letters.width(names.texts[place], SIZE), unit.joined)
                   for place, unit in enumerate(shown.columns)], room)
    colours = theme.ramp()[np.round(255 * theme.strength(weights, view.scale)).astype(int)]
    outlined = shown.column_of(view.pair[1]) if view.pair and shown.row_of(view.pair[0]) == row else None

    def paint(sheet: Sheet, x: float, y: float) -> None:
        for place, (left, top, wide) in enumerate(spots):
            unit, colour = shown.columns[place], colours[place]
            edge, line = (theme.ACCENT, 1.2) if place == outlined else (theme.HAIRLINE, 0.5)
            sheet.box(x + left, y + top, wide, 16, fill=f"#{bytes(colour).hex()}", edge=edge, line=line)
            ink = theme.PAPER if colour.mean() < 150 else theme.QUIET if unit.special else theme.INK
            sheet.text(x + left + PAD, y + top + 11.5, names.texts[place], size=SIZE, face="mono", colour=ink,
                       fill=theme.UNKNOWN if unit.unknown else None)
            if weights[place] >= NUMBERED:
                sheet.text(x + left + wide / 2, y + top + 23, f"{weights[place]:z.2f}", size=6, colour=theme.QUIET,
                           align="center")

    return PicturePlan(max(left + wide for left, _, wide in spots), spots[-1][1] + LINE - 4,
                       WORDS("background", a=letters.label(shown.rows[row].text)), (*shown.notes, *names.notes), paint,
                       theme.ramp(), weight_ticks(view.scale), weight_name(view.scale),
                       pair=pair_words(shown, view), whole_width=True)


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
