"""What a browser may say of a presentation."""
import pytest

from viz.widgets.presentation import read


@pytest.mark.parametrize("value", [None, {}, {"on": 1}, {"step": 1.0}, {"step": 2}, {"step": True},
                                   {"on": True, "step": 1}, "on", [1]])
def test_anything_else_is_nothing(value):
    assert read(value) is None


def test_the_keys_are_understood():
    assert read({"on": True}) == ("on", True) and read({"on": False}) == ("on", False)
    assert read({"step": -1}) == ("step", -1)
