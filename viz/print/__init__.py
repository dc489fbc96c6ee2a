"""Pictures of a record: one figure for the PNG, SVG and PDF exports alike."""
from typing import TYPE_CHECKING

from model.core.record import AttentionRecord
from model.core.view import View
from viz.print import grid, lines, matrix, picture, strip
from viz.print.options import Options
from viz.print.page import compose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANS = {"matrix": matrix.plan, "lines": lines.plan, "text": strip.plan, "picture": picture.plan, "grid": grid.plan}


def figure(record: AttentionRecord, view: View, options: Options, raster: bool) -> "Figure":
    """Returns the figure of the open head in its lens, or of all heads; draw it inside `sheet.pen`."""
    plan = PLANS["grid" if options.grid else view.lens](record, view, raster)
    return compose(plan, record, view, options)
