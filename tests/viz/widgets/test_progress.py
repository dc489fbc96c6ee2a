"""The progress in lessons that a browser may report."""
import pytest

from viz.text import strings
from viz.widgets.progress import parse_event, right_answers


@pytest.mark.parametrize("value", [None, [], {"softmax": {"guess": "z"}}, {"nowhere": {"guess": "a"}},
                                   {"softmax": {"guess": ["a"]}}, {"softmax": {"#": "ends"}}])
def test_only_existing_controls_are_remembered(value):
    assert parse_event(value) == {}


def test_valid_answers_are_restored_and_the_rest_ignored():
    said = {"softmax": {"guess": "b", "t": "4", "check_9": "a"}, "scale": {"guess": "c", "dk": "x"}, "x": {}}
    assert parse_event(said) == {"softmax": {"guess": "b", "t": 4.0}, "scale": {"guess": "c"}}


def test_mark_counts_right_answers():
    right = "abcd"[strings("lessons/softmax")["predict"]["right"]]
    wrong = next(letter for letter in "abcd" if letter != right)
    assert right_answers("softmax", {"guess": right}) == (1, 1) and right_answers("softmax", {"guess": wrong}) == (0, 1)
