"""Create handout items from fabricated records, for the tests of handouts."""
from dataclasses import replace

import numpy as np
from pandas import DataFrame

from clearhead.model.core import heads
from clearhead.model.core.view import View
from clearhead.viz.app.page_controls import Numbers
from clearhead.viz.components import block_diagram as block_payload
from clearhead.viz.components import handles as handles_payload
from clearhead.viz.components import head_grid as grid_payload
from clearhead.viz.components import head_view as payload
from clearhead.viz.components import mask_editor as cells_payload
from clearhead.viz.components import story as story_payload
from clearhead.viz.components import token_strip as strip_payload
from clearhead.viz.components import transformer_diagram as anatomy_payload
from clearhead.viz.components.block_diagram import DiagramBox
from clearhead.viz.components.handles import HandleSet
from clearhead.viz.components.head_grid import GridState, HeadValues
from clearhead.viz.components.picture_view import rows
from clearhead.viz.components.story import CELLS, STEPS, Scene, Step
from clearhead.viz.export.handout.build import chart_item, grid_item, head_item, picture_item, table_item
from clearhead.viz.export.handout.files import Item
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from tests import fabricate

HOSTILE = "</script><script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">"
NUMBERS = np.linspace(-1, 1, 24).reshape(4, 6)


def _record(count: int):
    return fabricate.patterned(fabricate.tokens() if count == 16 else fabricate.repeating(count), heads=(12,) * 6)


def head(count: int = 16, number: int = 0, **view) -> Item:
    return head_item(_record(count), View(layer=0, head=number, token=10, pair=(10, 2), **view),
                     link="https://attention.example.org/heads?layer=0")


def grid() -> Item:
    return grid_item(_record(16), View(layer=0, head=0, pair=(10, 2)))


def coloured() -> Item:
    """Create a grid of numbers, as on the Compare page."""
    made = _record(16)
    overview = heads.overview(made[made.kinds[0]])
    values = {place: float(number) for number, place in enumerate(grid_payload.head_ids(overview))}
    shown = GridState((0, 0), rank_badges=[(5, 11, 1), (5, 10, 2)],
                      values=HeadValues(values, "divergence, bits", ranked=True))
    state = grid_payload.state(overview, shown, room="")
    return picture_item("head_grid", grid_payload.body(overview, room=""), state, records=(made,))


def change() -> Item:
    """Create the difference of two heads, one of which lacks a row."""
    made = _record(16)
    first, second = (fabricate.shown(made, layer=0, head=head) for head in (0, 1))
    weights = second.weights - first.weights
    weights[4] = np.nan
    shown, bound = replace(first, weights=weights, scores=None), float(np.nanmax(np.abs(weights)))
    return picture_item("head_view", payload.body(shown, room="", bound=bound), payload.state(shown, View(), room=""),
                        records=(made,))


def covered() -> Item:
    """Create a covered head, which readers predict."""
    return head_item(_record(16), View(layer=0, head=0, token=10, pair=(10, 2)), covered=True)


def picture(**view) -> Item:
    """Create a head over a picture, from patch 1,2, with patch 0,5 hidden."""
    return head_item(fabricate.pictured(hidden=6), View(layer=1, head=2, token=9, lens="picture", **view))


def photos() -> Item:
    """Create all heads' rows of one patch, over the picture."""
    made = fabricate.pictured()
    view = View(layer=0, head=1, token=9)
    overview = rows.rows_overview(made.maps[0], view)
    state = grid_payload.state(overview, GridState((0, 1)), room="")
    behind = rows.picture_behind(made, view, 0.6)
    return picture_item("head_grid", grid_payload.body(overview, room="", behind=behind), state, records=(made,))


def handles() -> Item:
    control = Numbers("z", (1.0, 2.0, -1.5), -5, 5, 3, 3)
    drawn = HandleSet(["a", "b", "c"], "logits", "nats", height=200)
    return picture_item("handles", handles_payload.body(control, drawn, room=""),
                        handles_payload.state(control.start, room="", faint=(1,)))


def cells() -> Item:
    return picture_item("mask_editor", cells_payload.body(list("abcd"), room=""),
                        cells_payload.state(np.tri(4, dtype=bool), room="", marked=2))


def strip() -> Item:
    return picture_item("token_strip", strip_payload.body(fabricate.tokens(), room=""),
                        strip_payload.state(room="", focus=10, pair=(10, 2)))


def figure() -> Item:
    door = anatomy_payload.Door("softmax", "What is a softmax?", 10, ("scale",))
    return picture_item("transformer_diagram", anatomy_payload.body({"softmax": door}, room=""),
                        anatomy_payload.state(room=""))


def table() -> Item:
    fits = np.array([0.25, 0.75, np.nan], np.float32)
    return table_item(DataFrame({"head": ["0·2", "1·0", "1·1"], "fit": fits, "<b>": [None, "x", "y"]}), "Three heads.")


def block() -> Item:
    boxes = [DiagramBox("in", "in", "x", "5 × 4"), DiagramBox("attention", "attention", "Attention <b>", "5 × 4"),
             DiagramBox("add", "add", "+", "5 × 4")]
    return picture_item("block_diagram", block_payload.body(boxes, room="", alt="A block of three."),
                        block_payload.state("add", room=""))


def scene() -> Scene:
    """Create a scene of a text of four pieces and two blocks of two heads."""
    numbers = np.linspace(-1, 1, 4 * CELLS, dtype=np.float32).reshape(4, CELLS)
    rows = np.full((2, 2, 4), 0.25, np.float32)
    steps = tuple(Step(name, f"What {name} says.", "softmax", "Softmax") for name in STEPS)
    return Scene((("a", True), (" ", False), ("<b>", True)), ("[BOS]", "a", "<b>", "c"), (2, 10, 11, 12), numbers,
                 numbers + 1, rows, (1, -1), "{:.0%}".format, rows[:, :, 0], np.array([[1, 2], [3, 4]], np.float32),
                 np.linspace(-1, 1, 20, dtype=np.float32), ("x", "y"), (7, 8), (2.0, -1.0), (0.9, 0.05), "2 others", 64,
                 "Again", steps, "A text.")


def story() -> Item:
    return picture_item("story", story_payload.body(scene(), room=""),
                        story_payload.state(room="", step=len(STEPS) - 1, plays=False))


def squares() -> Item:
    return chart_item(matrix("light", NUMBERS, list("abcd"), list("uvwxyz"), style=CellStyle("signed")),
                      "Four rows of six.")


def curve() -> Item:
    x = np.linspace(0, 1, 5)
    return chart_item(lines("light", x, [Line("square", x**2)], axes=("x", "x²")), "A curve.")


# one of every kind
FIGURES = (head, grid, coloured, change, covered, picture, photos, handles, cells, strip, figure, table, block, story,
           squares, curve)
