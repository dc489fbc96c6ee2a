"""Draw figures for papers, as wide as a journal column: one head, several heads on one scale, or all heads."""
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from clearhead.model.core.query import HeadId, UserError, frozen, head_label
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.components.from_record import grid_of, picture_of
from clearhead.viz.components.picture import Head
from clearhead.viz.export.paper.grid import ways
from clearhead.viz.export.paper.page import TITLES, WORDS, Paper, PicturePlan, bar_at, roomiest
from clearhead.viz.export.paper.sheet import Sheet, readable, wrap
from clearhead.viz.style.text import show_invisibles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = {"one-column": 84.0, "two-column": 174.0}   # millimetres, as in journals of Springer Nature and Elsevier (±6)
POINTS = 72 / 25.4       # points per millimetre
EDGE = 4                 # points on both sides, for letters and ticks that extend beyond the plot
LEAST = 40.0             # smallest width in millimetres
GUTTER, TITLE = 10, 14   # points: between pictures, and for the title above each
NARROWEST = 110          # points: smallest width of a picture beside another one
TALLEST = 230.0          # millimetres of an A4 or letter page within its margins, without the caption
LINE, BELOW = 12, 50     # points: a line of the title, and the colour bar with its gaps
BOLD = 1.15              # width of bold letters, relative to others
ENOUGH = 9.0             # points per token that need not grow


def millimetres(width: str | float) -> float:
    """Return a width in millimetres. Raises UserError for an unknown name and for widths outside 40 to 1,000 mm."""
    try:
        chosen = float(WIDTHS.get(width, width))   # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise UserError(f"There is no width {width!r}; choose {' or '.join(WIDTHS)}, or give millimetres.") from error
    if not LEAST <= chosen <= 1000:
        raise UserError(f"A figure must be {LEAST:g} to 1,000 mm wide, not {chosen:g}; choose another width.")
    return chosen


@frozen
class Layout:
    """What a figure shows and how it is made: the heads, empty for the grid of all; the width, a name in WIDTHS or
    millimetres; whether it has a title; and its own titles of the axes, for the queries and the keys."""

    heads: tuple[HeadId, ...] = ()
    width: str | float = "two-column"
    title: bool = False
    labels: tuple[str, str] | tuple[()] = ()


def heads_named(record: AttentionRecord, view: View, chosen: tuple[HeadId, ...]) -> str:
    """Name the heads, or say how many there are if none is chosen."""
    if not chosen:
        return WORDS("grid_title", count=sum(layer.heads for layer in record[view.kind].layers))
    if chosen[1:]:
        return WORDS("heads", list=", ".join(head_label(*head) for head in chosen))
    return WORDS("title", layer=chosen[0][0], head=chosen[0][1])


def model_named(record: AttentionRecord, view: View) -> str:
    """Name the model and the kind of attention."""
    return WORDS("of", title=record.card.title, kind=view.kind.label(WORDS["kinds"]))


def heading(record: AttentionRecord, view: View, chosen: tuple[HeadId, ...]) -> str:
    """Name the model, the kind of attention and the heads."""
    return f"{model_named(record, view)} · {heads_named(record, view, chosen)}"


def reading(record: AttentionRecord, view: View, layout: Layout) -> list[str]:
    """Return how to read a figure, for its caption: its heads, rows, columns and scale, then the notes. Call it inside
    `sheet.pen`."""
    plans, _, _, tall = _arranged(record, view, layout, raster=True)
    says = "; ".join(filter(None, [*dict.fromkeys(plan.orientation for plan in plans), plans[0].bar_name]))
    notes = [note for plan in plans for note in plan.notes]
    notes += [WORDS("tall", height=tall / POINTS)] if tall > TALLEST * POINTS + 1 else []
    return [f"{heading(record, view, layout.heads)}: {says}.",
            *(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in dict.fromkeys(notes))]


def figure(record: AttentionRecord, view: View, layout: Layout, *, raster: bool) -> "Figure":
    """Return a figure that is exactly as wide as the layout says, and no taller than TALLEST where that is possible,
    without a caption (which is available as text). Several heads are drawn in rows on one colour scale. Call it inside
    `sheet.pen`."""
    plans, columns, lines, _ = _arranged(record, view, layout, raster)
    sheet, y, wide = Sheet(), 1.0 + 6 * layout.title, millimetres(layout.width) * POINTS
    share, above = (wide - 2 * EDGE + GUTTER) / columns, TITLE * (len(plans) > 1)
    for number, line in enumerate(lines):
        sheet.text(EDGE, LINE * number + 10, line, size=9, face="bold")
        y += LINE
    for place, plan in enumerate(plans):
        x = EDGE + place % columns * share
        if above:
            sheet.text(x, y + 9, head_label(*layout.heads[place]), size=8, face="bold")
        plan.paint(sheet, x, y + above)
        if place % columns == columns - 1 or plan is plans[-1]:
            y += max(each.height for each in plans) + above + GUTTER
    return sheet.close(wide, bar_at(sheet, plans[0], (EDGE, y + 6), wide - 2 * EDGE) + 2)


def _arranged(record: AttentionRecord, view: View, layout: Layout,
              raster: bool) -> tuple[list[PicturePlan], int, list[str], float]:
    """Plan a picture per head, in the number of columns that leaves most room for the tokens, and the largest one that
    leaves enough. Return the plans, the number of columns, the lines of the title and the height in points."""
    across, chosen = millimetres(layout.width) * POINTS - 2 * EDGE, layout.heads
    named = readable(show_invisibles(heading(record, view, chosen)), mono=False)
    lines = wrap(named, 9, across / BOLD) if layout.title else []
    taken = LINE * len(lines) + BELOW
    free = TALLEST * POINTS - taken
    if not chosen:
        drawn = replace(grid_of(record, view), open_head=(-1, -1))
        per, step = roomiest(lambda per, step: drawn.plan(Paper(raster, per=per, step=step)), ways(drawn, across),
                             lambda per: (across, free))
        plans, columns, above = [drawn.plan(Paper(raster, per=per, step=step))], 1, 0
    else:
        overlay, above = (view.overlay, GUTTER) if len(chosen) == 1 else ((), TITLE + GUTTER)
        shown = [picture_of(record, replace(view, layer=layer, head=number, overlay=overlay))
                 for layer, number in chosen]
        bounds = [each.open.bound for each in shown if isinstance(each, Head)]
        if any(bounds):   # all heads share the printed bar
            bound = max(each or 1 for each in bounds)
            shown = [replace(each, pictures=tuple(replace(one, bound=bound) for one in each.pictures))
                     if isinstance(each, Head) else each for each in shown]

        def room(columns: int) -> tuple[float, float]:
            return (across + GUTTER) / columns - GUTTER, free / math.ceil(len(shown) / columns) - above

        def made(columns: int, step: float, place: int = 0) -> PicturePlan:
            return shown[place].plan(Paper(raster, step=step, wide=room(columns)[0], titles=layout.labels or TITLES))

        most = 1 if made(1, LINE).whole_width else min(len(shown), int((across + GUTTER) / (NARROWEST + GUTTER)))
        columns, step = roomiest(made, range(1, max(1, most) + 1), room, ENOUGH)
        plans = [made(columns, step, place) for place in range(len(shown))]
    return plans, columns, lines, math.ceil(len(plans) / columns) * (plans[0].height + above) + taken
