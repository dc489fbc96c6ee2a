"""What a browser may say of a presentation."""
import pytest

from viz.widgets.presentation import parse_event


@pytest.mark.parametrize("value", [None, {}, {"on": 1}, {"step": 1.0}, {"step": 2}, {"step": True},
                                   {"on": True, "step": 1}, "on", [1],
                                   {"screen": 1}, {"screen": ""}, {"screen": "A"}, {"screen": "x.123"},
                                   {"screen": "a\n"}, {"screen": "a" * 50}, {"screen": "a", "on": True}])
def test_anything_else_is_nothing(value):
    assert parse_event(value) is None


def test_the_keys_are_understood():
    assert parse_event({"on": True}) == ("on", True) and parse_event({"on": False}) == ("on", False)
    assert parse_event({"step": -1}) == ("step", -1)
    assert parse_event({"screen": "predict-guess_far.2"}) == ("screen", "predict-guess_far.2")
