"""Draw figures for papers, as wide as a journal column: one head, several heads on one scale, or all heads."""
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from model.core import heads
from model.core.query import HeadId, UserError, frozen
from model.core.record import AttentionRecord
from model.core.view import View, displayed_head, overlaid_heads
from viz.format import head_label
from viz.paper import grid, head, picture
from viz.paper.page import WORDS, PicturePlan, Room, bar_at
from viz.paper.sheet import Sheet, readable, wrap
from viz.text import show_invisibles

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
TALLEST = 230.0          # millimetres of an A4 or letter page within its margins, without the caption
LINE, BELOW = 12, 50     # points: a line of the title, and the colour bar with its gaps
BOLD = 1.15              # width of bold letters, relative to others
FINE = 8.0               # points per token that need not grow
LEAST_STEP = 0.5         # points per token in a figure of several heads


def millimetres(width: str | float) -> float:
    """Return a width in millimetres. Raises UserError for an unknown name and for widths outside 40 to 1,000 mm."""
    if isinstance(width, str) and width not in WIDTHS:
        raise UserError(f"There is no width {width!r}; choose {' or '.join(WIDTHS)}, or give millimetres.")
    if not isinstance(width, str | int | float | np.number) or isinstance(width, bool):
        raise UserError(f"{width!r} is not a width; choose {' or '.join(WIDTHS)}, or give millimetres.")
    chosen = WIDTHS[width] if isinstance(width, str) else float(width)
    if not LEAST <= chosen <= 1000:
        raise UserError(f"A figure must be {LEAST:g} to 1,000 mm wide, not {chosen:g}; choose another width.")
    return chosen


@frozen
class Layout:
    """What a figure shows and how it is made: the heads, empty for the grid of all; the width, a name in WIDTHS or
    millimetres; whether it has a title; and the titles of its axes, for the queries and the keys."""

    heads: tuple[HeadId, ...] = ()
    width: str | float = "two-column"
    title: bool = False
    labels: tuple[str, str] = (Room.looks, Room.looked_at)


def heading(record: AttentionRecord, view: View, chosen: tuple[HeadId, ...]) -> str:
    """Name the model, the kind of attention and the heads."""
    what = WORDS("grid_title", count=sum(layer.heads for layer in record[view.kind].layers))
    if chosen:
        what = (WORDS("title", layer=chosen[0][0], head=chosen[0][1]) if len(chosen) == 1
                else WORDS("heads", list=", ".join(head_label(*head) for head in chosen)))
    return f"{WORDS('of', title=record.card.title, kind=view.kind.label(WORDS['kinds']))} · {what}"


def reading(record: AttentionRecord, view: View, layout: Layout) -> list[str]:
    """Return how to read a figure, for its caption: its heads, rows, columns and scale, then the notes. Call it inside
    `sheet.pen`."""
    plans, _, tall = _arranged(record, view, layout, raster=True)
    says = "; ".join(filter(None, [*dict.fromkeys(plan.orientation for plan in plans), plans[0].bar_name]))
    notes = [note for plan in plans for note in plan.notes]
    notes += [WORDS("tall", height=tall / POINTS)] if tall > TALLEST * POINTS + 1 else []
    return [f"{heading(record, view, layout.heads)}: {says}.",
            *(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in dict.fromkeys(notes))]


def figure(record: AttentionRecord, view: View, layout: Layout, *, raster: bool) -> "Figure":
    """Return a figure that is exactly as wide as the layout says, and no taller than TALLEST where that is possible,
    without a caption (which is available as text). Several heads are drawn in rows on one colour scale. Call it inside
    `sheet.pen`."""
    across, sheet, chosen = millimetres(layout.width) * POINTS - 2 * EDGE, Sheet(), layout.heads
    plans, columns, _ = _arranged(record, view, layout, raster)
    y = 1.0
    for line in _title(record, view, layout):
        sheet.text(EDGE, y + 9, line, size=9, face="bold")
        y += LINE
    y += 6 * layout.title
    share = (across + GUTTER) / columns
    for start in range(0, len(plans), columns):
        row = plans[start:start + columns]
        for place, plan in enumerate(row):
            if len(chosen) > 1:
                sheet.text(EDGE + place * share, y + 9, head_label(*chosen[start + place]), size=8, face="bold")
            plan.paint(sheet, EDGE + place * share, y + TITLE * (len(chosen) > 1))
        y += max(plan.height for plan in row) + TITLE * (len(chosen) > 1) + GUTTER
    y = bar_at(sheet, plans[0], (EDGE, y + 6), across)
    return sheet.close(across + 2 * EDGE, y + 2)


def _title(record: AttentionRecord, view: View, layout: Layout) -> list[str]:
    """Return the lines of the title: the model and, unless each has a title of its own, the heads."""
    if not layout.title:
        return []
    text = (heading(record, view, layout.heads) if len(layout.heads) < 2
            else WORDS("of", title=record.card.title, kind=view.kind.label(WORDS["kinds"])))
    return wrap(readable(show_invisibles(text), mono=False), 9, (millimetres(layout.width) * POINTS - 2 * EDGE) / BOLD)


def _arranged(record: AttentionRecord, view: View, layout: Layout,
              raster: bool) -> tuple[list[PicturePlan], int, float]:
    """Plan a picture per head, in the largest number of columns that leaves enough room for the tokens, or in more if
    the figure would be too tall. Return the plans, the number of columns and the height in points."""
    across, chosen = millimetres(layout.width) * POINTS - 2 * EDGE, layout.heads
    free = TALLEST * POINTS - LINE * len(_title(record, view, layout)) - BELOW
    if not chosen:
        state, _, numbers = grid.grid_state(record, view)
        plan = grid.plan_of(heads.overview(record[view.kind]), replace(state, open_head=(-1, -1)), raster,
                            numbers=numbers, room=Room(across, free))
        return [plan], 1, plan.height + TALLEST * POINTS - free
    overlay = view.overlay if len(chosen) == 1 else ()
    views = [replace(view, layer=layer, head=number, overlay=overlay) for layer, number in chosen]
    several, above = len(views) > 1, TITLE * (len(views) > 1) + GUTTER
    shown = [] if view.lens == "picture" else [displayed_head(record, each) for each in views]
    wide, high = (len(shown[0].columns), len(shown[0].rows)) if shown else (1, 1)

    def room(columns: int) -> Room:
        return Room((across + GUTTER) / columns - GUTTER, max(1.0, free / math.ceil(len(views) / columns) - above),
                    *layout.labels)

    def steps(columns: int) -> tuple[float, float]:
        """Return the points per token that the width allows, and those that the height allows."""
        return (room(columns).width - LABELS) / wide, (room(columns).height - LABELS) / high

    preferred = next((columns for columns in range(min(len(views), MOST_COLUMNS), 1, -1)
                      if steps(columns)[0] >= SMALLEST * math.sqrt(columns)), 1)
    columns = preferred
    if several and steps(preferred)[1] < min(steps(preferred)[0], FINE):
        columns = max(range(preferred, min(len(views), 2 * MOST_COLUMNS) + 1), key=lambda count: min(steps(count)))
        if min(steps(columns)) < LEAST_STEP:
            raise UserError(f"{len(views)} heads of {high} × {wide} tokens do not fit on a page of "
                            f"{millimetres(layout.width):g} × {TALLEST:g} mm; draw fewer heads, or all as a grid.")
    plans = [picture.plan(record, each, room(columns)) for each in views] if not shown else [
        head.plan_of([each, *overlaid_heads(record, own)], own, raster, room=room(columns))
        for each, own in zip(shown, views, strict=True)]
    rows = math.ceil(len(plans) / columns)
    return plans, columns, rows * (plans[0].height + above) + TALLEST * POINTS - free
