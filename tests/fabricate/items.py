"""Create handout items from fabricated records, for the tests of handouts."""
from dataclasses import replace
from functools import cache

import numpy as np
from pandas import DataFrame

from clearhead.model.core import heads
from clearhead.model.core.view import View
from clearhead.viz.components.from_record import rows_over_picture
from clearhead.viz.components.picture import Grid, Head, HeadValues, head_ids
from clearhead.viz.export.handout.build import chart_item, picture_item, record_item, table_item
from clearhead.viz.export.handout.files import Item
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from tests import fabricate

NUMBERS = np.linspace(-1, 1, 24).reshape(4, 6)


@cache
def _record(count: int):
    return fabricate.patterned(fabricate.tokens() if count == 16 else fabricate.repeating(count), heads=(12,) * 6)


def head(count: int = 16, number: int = 0, **view) -> Item:
    return record_item(_record(count), View(layer=0, head=number, token=10, pair=(10, 2), **view),
                     link="https://attention.example.org/heads?layer=0")


def grid() -> Item:
    return record_item(_record(16), View(layer=0, head=0, pair=(10, 2)), grid=True)


def coloured() -> Item:
    """Create a grid of numbers, as on the Compare page."""
    made = _record(16)
    overview = heads.overview(made[made.kinds[0]])
    values = {place: float(number) for number, place in enumerate(head_ids(overview))}
    shown = Grid(overview, (0, 0), rank_badges=[(5, 11, 1), (5, 10, 2)],
                 values=HeadValues(values, "divergence, bits", ranked=True))
    return picture_item(shown, (made,))


def change() -> Item:
    """Create the difference of two heads, one of which lacks a row."""
    made = _record(16)
    first, second = (fabricate.shown(made, layer=0, head=head) for head in (0, 1))
    weights = second.weights - first.weights
    weights[4] = np.nan
    shown, bound = replace(first, weights=weights, scores=None), float(np.nanmax(np.abs(weights)))
    return picture_item(Head((shown,), View(), bound), (made,))


def covered() -> Item:
    """Create a covered head, which readers predict."""
    return record_item(_record(16), View(layer=0, head=0, token=10, pair=(10, 2)), covered=True)


def picture(**view) -> Item:
    """Create a head over a picture, from patch 1,2, with patch 0,5 hidden."""
    return record_item(fabricate.pictured(hidden=6), View(layer=1, head=2, token=9, lens="picture", **view))


def photos() -> Item:
    """Create all heads' rows of one patch, over the picture."""
    made = fabricate.pictured()
    view = View(layer=0, head=1, token=9)
    overview, behind = rows_over_picture(made, view, 0.6)
    grid = Grid(overview, (0, 1), behind=behind)
    return picture_item(grid, (made,))


def table() -> Item:
    fits = np.array([0.25, 0.75, np.nan], np.float32)
    return table_item(DataFrame({"head": ["0·2", "1·0", "1·1"], "fit": fits, "<b>": [None, "x", "y"]}), "Three heads.")


def squares() -> Item:
    return chart_item(matrix(NUMBERS, list("abcd"), list("uvwxyz"), style=CellStyle("signed")),
                      "Four rows of six.")


def curve() -> Item:
    x = np.linspace(0, 1, 5)
    return chart_item(lines(x, [Line("square", x**2)], axes=("x", "x²")), "A curve.")


# one of every kind
FIGURES = (head, grid, coloured, change, covered, picture, photos, table, squares, curve)
