"""Round the picture: its title, how to read it, the bar of its colours, what must be said of it, and where it comes
from."""
from typing import TYPE_CHECKING

import numpy as np

from model.core.record import AttentionRecord
from model.core.view import View
from viz import provenance, theme
from viz.format import true_minus
from viz.print import fonts
from viz.print.layout import WORDS, PicturePlan
from viz.print.lines import line_style
from viz.print.options import Options
from viz.print.sheet import MARGIN, Sheet
from viz.text import show_invisibles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARE, WIDE = 190, 1600   # points: of a picture and the bar below it; of pictures beside one another
NARROW = 300     # points: the narrowest page, so that a caption has room for a few words a line
BAR = (120, 7)   # points
SAMPLE = 26      # points: of a head's line in the legend
TICKS = {"linear": (0, 0.25, 0.5, 0.75, 1), "root": (0, 0.05, 0.25, 0.5, 1), "log": (1e-4, 1e-3, 1e-2, 1e-1, 1)}


def compose(plan: PicturePlan, record: AttentionRecord, view: View, options: Options) -> "Figure":
    """The whole page as a figure: title, picture, bar, notes, caption, from top to bottom."""
    sheet = Sheet()
    inner = max(NARROW, plan.width)
    y = _header(sheet, plan, record, view, options, inner)
    plan.paint(sheet, MARGIN, y)
    y = _bar(sheet, plan, (MARGIN, y + plan.height + 18))
    texts, source = provenance.sentences(record, options.link) if options.caption else ([], [])
    caption = [show_invisibles(" · ".join(texts)), show_invisibles(" · ".join(source))]
    coded = [WORDS["code_points"]] if fonts.CODE_POINT.search(fonts.readable(caption[0], mono=False)) else []
    y = _prose(sheet, y + 6, [note.rstrip(".") + "." for note in dict.fromkeys([*plan.notes, *coded])], 7.5, inner)
    y = _prose(sheet, y + 4, caption, 6.5, inner)
    return sheet.close(inner + 2 * MARGIN, y + MARGIN - 6)


def bare_picture(plan: PicturePlan) -> "Figure":
    """The picture alone with how to read it, its bar and its notes: for a page that has its own title and caption."""
    sheet = Sheet()
    inner = max(NARROW, plan.width)
    y = _prose(sheet, 0, [plan.orientation], 8, inner) + 8
    plan.paint(sheet, MARGIN, y)
    y = _bar(sheet, plan, (MARGIN, y + plan.height + 18))
    y = _prose(sheet, y + 4, [note.rstrip(".") + "." for note in dict.fromkeys(plan.notes)], 7.5, inner)
    return sheet.close(inner + 2 * MARGIN, y + 6)


def pictures_beside(plans: list[PicturePlan], titles: list[str], heading: str, caption: list[str]) -> "Figure":
    """Several pictures on one page: beside one another, or below one another where that would be wider than WIDE.
    caption: its lines, at the foot of the page."""
    sheet, across = Sheet(), sum(max(plan.width, BARE) for plan in plans) + 2 * MARGIN <= WIDE
    wide = sum(max(plan.width, BARE) + 2 * MARGIN for plan in plans) - 2 * MARGIN
    inner = wide if across else max(NARROW, *(plan.width for plan in plans))
    sheet.text(MARGIN, MARGIN + 11, heading, size=13, face="bold")
    x, top = float(MARGIN), _prose(sheet, MARGIN + 17, [plans[0].orientation], 8, inner) + 20
    lowest = max(plan.height for plan in plans)
    for plan, title in zip(plans, titles, strict=True):
        sheet.text(x, top, title, size=10, face="bold")
        under = top + 10 + (lowest if across else plan.height)
        plan.paint(sheet, x, under - plan.height)
        y = _bar(sheet, plan, (x, under + 18))
        x, top = (x + max(plan.width, BARE) + 2 * MARGIN, top) if across else (x, y + 28)
    notes = [note.rstrip(".") + "." for note in dict.fromkeys(note for plan in plans for note in plan.notes)]
    y = _prose(sheet, _prose(sheet, y + 6, notes, 7.5, inner) + 4, list(map(show_invisibles, caption)), 6.5, inner)
    return sheet.close(inner + 2 * MARGIN, y + MARGIN - 6)


def _header(sheet: Sheet, plan: PicturePlan, record: AttentionRecord, view: View, options: Options,
            inner: float) -> float:
    """Writes the title and how to read the picture; returns where the picture begins."""
    kind = view.kind.label(WORDS["kinds"])
    title = (WORDS["grid_title"].format(count=sum(layer.heads for layer in record[view.kind].layers)) if options.grid
             else WORDS["title"].format(layer=view.layer, head=view.head))
    y = MARGIN + 11.0
    sheet.text(MARGIN, y, title, size=13, face="bold")
    y = _prose(sheet, y + 6,
               [WORDS["of"].format(title=show_invisibles(record.card.title), kind=kind), plan.orientation], 8, inner)
    if plan.pair:
        x, y = float(MARGIN), y + 11
        for part in plan.pair:
            sheet.text(x, y, part, size=8, colour=theme.ACCENT, face="mono")
            x += fonts.width(part + " ", 8)
    return y + 12


def _prose(sheet: Sheet, y: float, paragraphs: list[str], size: float, inner: float) -> float:
    """Paragraphs below one another from y on; returns where the next thing may begin."""
    for paragraph in paragraphs:
        for line in fonts.wrap(fonts.readable(paragraph, mono=False), size, inner):
            y += size * 1.4
            sheet.text(MARGIN, y, line, size=size, colour=theme.QUIET)
    return y


def _bar(sheet: Sheet, plan: PicturePlan, corner: tuple[float, float]) -> float:
    """The weights from 0 to 1 as colours or as a line's thickness, with their scale's name; returns where the next
    thing may begin."""
    (width, height), (x, y) = BAR, corner
    if plan.bar is None:
        places = np.linspace(x, x + width, 61)
        colours, widths = line_style(np.linspace(0, 1, 60), np.array(theme.rgb(theme.HEADS[0])))
        ends = np.stack([places[:-1], places[1:]], -1)
        sheet.strokes(np.stack([ends, np.full(ends.shape, y + height / 2)], -1), colours, widths)
    else:
        sheet.image(x, y, width, height, plan.bar[np.newaxis])
        if plan.signed:   # as negative cells are
            lefts = x + np.arange(0, width / 2 - 6, 6)
            sheet.strokes(np.stack([np.stack([lefts + 1, np.full_like(lefts, y + height - 1)], -1),
                                    np.stack([lefts + 6, np.full_like(lefts, y + 1)], -1)], 1),
                          np.array([[1, 1, 1, 0.9]]), 0.7)
        sheet.box(x, y, width, height, edge=theme.HAIRLINE)
    for share, tick in _ticks(plan):
        at = x + width * share
        sheet.box(at, y + height, 0, 2, edge=theme.QUIET, line=0.5)
        sheet.text(at, y + height + 9, tick, size=6.5, colour=theme.QUIET, align="center" if at > x else "left")
    name = plan.bar_name or f"{WORDS['weight' if plan.bound is None else 'change']}, {WORDS['scales'][plan.scale]}"
    sheet.text(x + width + 10, y + height - 0.5, name, size=7.5, colour=theme.QUIET)
    return _legend(sheet, plan, y + height + 12)


def _ticks(plan: PicturePlan) -> list[tuple[float, str]]:
    """(place on the bar from 0 to 1, what stands there)."""
    if plan.ticks:
        return list(plan.ticks)
    if plan.bound is not None:
        return [((tick / plan.bound + 1) / 2, true_minus(f"{tick:.3g}")) for tick in (-plan.bound, 0, plan.bound)]
    return [(float(theme.strength(np.array(tick), plan.scale)), f"{tick:.3g}") for tick in TICKS[plan.scale]]


def _legend(sheet: Sheet, plan: PicturePlan, y: float) -> float:
    """The colours and dashes of the heads, if there are several."""
    x = float(MARGIN)
    for name, colour, dashes in plan.legend:
        sheet.strokes(np.array([[[x, y + 7.75], [x + SAMPLE, y + 7.75]]]),
                      np.array([[*np.array(theme.rgb(colour)) / 255, 1]]), 2, dashes)
        sheet.text(x + SAMPLE + 3, y + 10.5, name, size=8, face="mono")
        x += SAMPLE + 3 + fonts.width(name, 8) + 12
    return y + 12 if plan.legend else y
