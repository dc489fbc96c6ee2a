"""The values that the draggable head accepts from a browser."""

from viz.components.arrows import parse_event, state
from viz.components.messages import unpack
from viz.pages.inside import HAND

MOVED = {name: [0.123, -3.0, 0, 0, 1, 1, 2, 2] for name in "qkv"}


def test_dragged_values_are_rounded_to_hundredths():
    found = parse_event(MOVED, HAND, 4)
    assert found == dict.fromkeys("qkv", (0.12, -3.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0))
    header, _ = unpack(state(found, 2, [0, 2, 3], room="r", covered=True))
    assert header["q"] == list(found["q"]) and header["covered"] is True
    assert parse_event({"looks": 3}, HAND, 4) == {"looks": 3}
