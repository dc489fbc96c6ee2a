"""Curves: a dot on each at the current value, and events beside their bands."""
import numpy as np
import pytest

from viz.figures.lines import Line, standing

STANDING = np.array([1.0, 10.0, 100.0])


@pytest.mark.parametrize("here", [{0: 2.0}, {0: 2.0, 1: 5.0}])
def test_every_curve_has_a_dot(here):
    drawn = [Line("one", STANDING, 0), Line("other", 2 * STANDING, 1)][:len(here)]
    figure = standing("light", STANDING, drawn, (7.0, here), axes=("x", "y"), marks=[(7.0, "x = 7")],
                      y_range=(1e-4, 40))
    traces = figure.plotly().data
    dots = [trace for trace in traces if trace.name == "here"]
    assert [(float(dot.x[0]), float(dot.y[0])) for dot in dots] == [(7.0, value) for value in here.values()]
    assert sum(trace.name == "apart" for trace in traces) == (len(here) == 2)
