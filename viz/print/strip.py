"""The text lens: the tokens that are looked at as a running text, each on the colour of its weight from the token in
focus."""
import numpy as np

from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import DisplayedHead, View, displayed_head
from viz import theme
from viz.print import fonts
from viz.print.layout import WORDS, PicturePlan, labels, pair_words
from viz.print.sheet import Sheet

# points: the column, a line, the letters, round a token, between tokens
WIDE, LINE, SIZE, PAD, GAP = 460, 30, 10, 3, 3
NUMBERED = 0.005   # a smaller weight would read 0.00


def plan(record: AttentionRecord, view: View, raster: bool) -> PicturePlan:
    """How the text lens will look. Raises UserError if no token is in focus."""
    return plan_of([displayed_head(record, view)], view, raster)


def plan_of(pictures: list[DisplayedHead], view: View, raster: bool) -> PicturePlan:
    """The same of a head that is displayed already, the first of `pictures`. Raises UserError if no token is in
    focus."""
    shown = pictures[0]
    row = shown.row_of(view.token if view.token is not None or view.pair is None else view.pair[0])
    if row is None:
        raise UserError("The text lens shows what one token looks at, and none is in focus; choose a token that is "
                        "shown.")
    weights, focus = shown.weights[row], shown.rows[row]
    names = labels(shown.columns, 22)
    spots = _flow([(fonts.width(names.texts[place], SIZE), unit.joined) for place, unit in enumerate(shown.columns)])
    colours = theme.ramp()[np.round(255 * theme.strength(weights, view.scale)).astype(int)]
    outlined = shown.column_of(view.pair[1]) if view.pair and shown.row_of(view.pair[0]) == row else None

    def paint(sheet: Sheet, x: float, y: float) -> None:
        for place, (left, top, wide) in enumerate(spots):
            unit, colour = shown.columns[place], "#{:02x}{:02x}{:02x}".format(*colours[place])
            edge, line = (theme.ACCENT, 1.2) if place == outlined else (theme.HAIRLINE, 0.5)
            sheet.box(x + left, y + top, wide, 16, fill=colour, edge=edge, line=line)
            ink = theme.QUIET if unit.special else theme.INK["light"]
            if colours[place].mean() < 150:
                ink = theme.PAPER["light"]
            behind = theme.UNKNOWN if unit.unknown else None
            sheet.text(x + left + PAD, y + top + 11.5, names.texts[place], size=SIZE, face="mono", colour=ink,
                       fill=behind)
            if weights[place] >= NUMBERED:
                sheet.text(x + left + wide / 2, y + top + 23, f"{weights[place]:z.2f}", size=6, colour=theme.QUIET,
                           align="center")

    width = max(left + wide for left, _, wide in spots)
    return PicturePlan(width, spots[-1][1] + LINE - 4, WORDS["text"].format(a=fonts.label(focus.text)),
                       (*shown.notes, *names.notes), view.scale, paint, theme.ramp(), pair_words(shown, view))


def _flow(tokens: list[tuple[float, bool]]) -> list[tuple[float, float, float]]:
    """Left, top and width of each token's box, line by line; a token that continues a word stands close to the one
    before it."""
    spots, x, y = [], float(-GAP), 0.0
    for width, joined in tokens:
        x, wide = x if joined else x + GAP, max(width, 8) + 2 * PAD
        if x > 0 and x + wide > WIDE:
            x, y = 0.0, y + LINE
        spots.append((max(x, 0.0), y, wide))
        x = spots[-1][0] + wide
    return spots
