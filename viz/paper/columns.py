"""Draw figures for papers, as wide as a journal column: one head, several heads on one scale, or all heads."""
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from model.core import heads
from model.core.query import HeadId, UserError
from model.core.record import AttentionRecord
from model.core.view import View, displayed_head
from viz.format import head_label
from viz.paper import grid, head, picture
from viz.paper.page import WORDS, PicturePlan, bar_at
from viz.paper.sheet import Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = {"one-column": 84.0, "two-column": 174.0}   # millimetres, as in journals of Springer Nature and Elsevier (±6)
POINTS = 72 / 25.4       # points per millimetre
EDGE = 4                 # points on both sides, for letters and ticks that extend beyond the plot
LEAST = 40.0             # smallest width in millimetres
GUTTER, TITLE = 10, 14   # points: between pictures, and for the title above each
SMALLEST = 4.0           # points per token; smaller matrices get a row of their own
LABELS = 70              # points for the labels of a matrix
MOST_COLUMNS = 4


def millimetres(width: str | float) -> float:
    """Return a width in millimetres. Raises UserError for an unknown name and for widths outside 40 to 1,000 mm."""
    if isinstance(width, str) and width not in WIDTHS:
        raise UserError(f"There is no width {width!r}; choose {' or '.join(WIDTHS)}, or give millimetres.")
    chosen = WIDTHS[width] if isinstance(width, str) else float(width)
    if not LEAST <= chosen <= 1000:
        raise UserError(f"A figure must be {LEAST:g} to 1,000 mm wide, not {chosen:g}; choose another width.")
    return chosen


def figure(record: AttentionRecord, view: View, chosen: tuple[HeadId, ...], width: str | float, *, raster: bool,
           title: bool = False) -> "Figure":
    """Return a figure that is exactly `width` wide, without a caption (which is available as text). Call it inside
    `sheet.pen`.

    chosen: the heads, drawn in rows on one colour scale; empty for the grid of all heads. title: print the model and
    the kind of attention above.
    """
    across, sheet = millimetres(width) * POINTS - 2 * EDGE, Sheet()
    plans = _plans(record, view, chosen, across, raster)
    columns = max(1, min(len(plans), int((across + GUTTER) // (plans[0].width + GUTTER - 1e-6))))
    y = 1.0
    if title:
        sheet.text(EDGE, y + 9, WORDS("of", title=record.card.title, kind=view.kind.label(WORDS["kinds"])),
                   size=9, face="bold")
        y += 18
    share = (across + GUTTER) / columns
    for start in range(0, len(plans), columns):
        row = plans[start:start + columns]
        for place, plan in enumerate(row):
            if len(chosen) > 1:
                sheet.text(EDGE + place * share, y + 9, head_label(*chosen[start + place]), size=8, face="bold")
            plan.paint(sheet, EDGE + place * share, y + TITLE * (len(chosen) > 1))
        y += max(plan.height for plan in row) + TITLE * (len(chosen) > 1) + GUTTER
    y = bar_at(sheet, plans[0], (EDGE, y + 6))
    return sheet.close(across + 2 * EDGE, y + 2)


def _plans(record: AttentionRecord, view: View, chosen: tuple[HeadId, ...], across: float,
           raster: bool) -> list[PicturePlan]:
    """Plan a picture per head, using the largest number of columns that leaves enough room for the tokens."""
    if not chosen:
        shown, _, numbers = grid.grid_state(record, view)
        return [grid.plan_of(heads.overview(record[view.kind]), replace(shown, open_head=(-1, -1)), raster,
                             numbers=numbers, room=across)]
    views = [replace(view, layer=layer, head=number) for layer, number in chosen]
    if view.lens == "picture":
        return [picture.plan(record, each) for each in views]
    shown_heads = [displayed_head(record, each) for each in views]
    longest = max(len(shown_heads[0].columns), len(shown_heads[0].rows))
    for columns in range(min(len(views), MOST_COLUMNS), 0, -1):
        room = (across + GUTTER) / columns - GUTTER
        if columns == 1 or (room - LABELS) / longest >= SMALLEST * math.sqrt(columns):
            break
    return [head.plan_of([each], own, raster, room=room) for each, own in zip(shown_heads, views, strict=True)]
