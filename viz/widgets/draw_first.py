"""A prediction that is a curve: one draws it by hand, then the real one appears beside it."""
from collections.abc import Sequence

import numpy as np

from viz.components.sketch import Axes, sketch
from viz.figures.lines import Line
from viz.page import PageContext
from viz.page_controls import Numbers
from viz.text import strings

PLACES = 17   # heights that make the curve


def drawn_control(name: str = "drawn") -> Numbers:
    """The page's control that holds the curve; () until one is drawn."""
    return Numbers(name, (), 0, 1, 0, PLACES)


def draw_first(page: PageContext, control: Numbers, axes: Axes) -> bool:
    """Asks for the curve. Whether one is drawn: the page may then show the real one, in this one's place or below."""
    values = page.controls[control.name]
    sketch(control, values, axes, key=f"sketch-{control.name}", turn=page.set)
    return len(values) == PLACES


def drawn_line(values: Sequence[float], x: np.ndarray, y_range: tuple[float, float], log: str = "") -> Line:
    """The curve that was drawn, as a line over the x of the real figure, whose axes it was drawn over: from x[0] to
    x[-1] and over y_range; log: which of them are logarithmic, as of `lines`."""
    across = np.log(x) if "x" in log else np.asarray(x, float)
    shares = (across - across[0]) / (across[-1] - across[0])
    heights = np.interp(shares, np.linspace(0, 1, len(values)), values)
    low, high = np.log(y_range) if "y" in log else y_range
    y = low + heights * (high - low)
    return Line(strings("lesson")["sketch"]["yours"], np.exp(y) if "y" in log else y, None, "dash")
