"""A curve drawn by hand lies on the real figure where it was drawn."""
import numpy as np
import pytest

from viz.widgets.draw_first import PLACES, drawn_line


def test_on_even_axes_a_height_is_a_share_of_the_range():
    line = drawn_line(np.linspace(0, 1, PLACES), np.array([0.0, 5.0, 10.0]), (-2.0, 2.0))
    assert line.y == pytest.approx([-2, 0, 2])


def test_on_logarithms_the_middle_is_the_geometric_mean():
    line = drawn_line(np.linspace(1, 0, PLACES), np.array([1.0, 10.0, 100.0]), (1e-4, 1e2), "xy")
    assert line.y == pytest.approx([1e2, 0.1, 1e-4])
