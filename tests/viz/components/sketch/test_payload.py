"""What a curve drawn by hand says, and what it may hand on."""
import pytest

from viz.components.messages import unpack
from viz.components.sketch import Axes, body, parse_event, state
from viz.page_controls import Numbers

CONTROL = Numbers("drawn", (), 0, 1, 0, 3)
HOSTILE = [None, 1, [], {}, {"values": None}, {"values": [0, 1]}, {"values": [0, 1, 2]}, {"values": [0, 1, "1"]},
           {"values": [0, 1, float("nan")]}, {"values": [0, 1, 1], "more": 1}, {"values": (0, 1, 1)}]


@pytest.mark.parametrize("value", HOSTILE)
def test_nothing_is_a_curve_but_as_many_heights_as_there_are_places(value):
    assert parse_event(value, CONTROL) is None


def test_heights_come_back_in_hundredths_and_go_out_as_they_are():
    assert parse_event({"values": [0, 0.123, 1]}, CONTROL) == (0.0, 0.12, 1.0)
    assert unpack(state((0.0, 0.12, 1.0), room="r"))[0]["values"] == [0.0, 0.12, 1.0]
    header, _ = unpack(body(Axes(("x", "y"), [(0, "1")], [(1, "2")]), 3, room="r"))
    assert (header["places"], header["names"]) == (3, ["x", "y"])
