"""A picture on paper has the colours of its numbers, and its colour bar covers their possible range."""
import numpy as np

from viz.components.picture_view import PatchValues
from viz.paper import picture
from viz.paper.sheet import Sheet

BOXES = np.array([[np.nan] * 4, [0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)


def plan_of(numbers, kind="signed", hidden=()):
    values = PatchValues(np.array(numbers, np.float32), "a head", "a number", kind)
    return picture.plan_of(np.full((10, 20, 3), 90, np.uint8), BOXES, values, focus=None, hidden=hidden, orientation="")


def strokes(plan) -> list:
    sheet = Sheet()
    plan.paint(sheet, 5, 7)
    return [each.get_segments() for each in sheet.axes.collections]


def test_bar_of_signed_numbers_has_both_sides():
    for kind in ("plain", "signed"):
        plan = plan_of((0, 0.2, 0.9), kind)
        np.testing.assert_array_equal(plan.bar, picture.bar(kind == "signed"))
        assert (plan.width, plan.height) == (picture.WIDE, picture.WIDE / 2)
    assert (picture.bar(True)[0] != picture.bar(False)[0]).any()


def test_negative_patches_are_struck_through():
    plan = plan_of((-1, -0.5, 0.9))
    assert plan.signed and "struck through" in plan.bar_name
    ((start, end),), = strokes(plan)
    assert 5 < start[0] < end[0] < 5 + picture.WIDE / 2 and start[1] > end[1] > 7   # inside the left patch, rising
    assert strokes(plan_of((-1, -0.07, 0.9))) == strokes(plan_of((-1, 0.5, 0.9))) == []
    crosses, = strokes(plan_of((-1, -0.5, 0.9), hidden=(1,)))
    assert len(crosses) == 2 and (crosses[0][:, 1] == crosses[1][:, 1]).all(), "hidden: crossed out, and not struck"
    assert (crosses[0][:, 0] == crosses[1][::-1, 0]).all()
