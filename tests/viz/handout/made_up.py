"""Items over made-up records, for the tests of the handout."""
import numpy as np

from model.view import View
from tests.viz.components import fabricated
from viz.figures.lines import Line, lines
from viz.figures.matrix import matrix
from viz.handout.item import Item
from viz.handout.made import chart_item, grid_item, head_item

HOSTILE = "</script><script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">"
NUMBERS = np.linspace(-1, 1, 24).reshape(4, 6)


def head(count: int = 16, number: int = 0, **view) -> Item:
    made = fabricated.record(fabricated.tokens() if count == 16 else fabricated.many(count), heads=(12,) * 6)
    return head_item(made, View(layer=0, head=number, token=10, pair=(10, 2), **view), link="http://127.0.0.1:8501/heads?layer=0")


def grid() -> Item:
    return grid_item(fabricated.record(fabricated.tokens(), heads=(12,) * 6), View(layer=0, head=0, pair=(10, 2)))


def squares() -> Item:
    return chart_item(matrix("light", NUMBERS, list("abcd"), list("uvwxyz"), kind="signed"), "Four rows of six.")


def curve() -> Item:
    x = np.linspace(0, 1, 5)
    return chart_item(lines("light", x, [Line("square", x**2)], axes=("x", "x²")), "A curve.")
