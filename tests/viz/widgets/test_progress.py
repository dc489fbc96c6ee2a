"""What a browser may say that it remembers of the lessons."""
import pytest

from viz.text import strings
from viz.widgets.progress import parse_event, right_answers


@pytest.mark.parametrize("value", [None, [], {"softmax": {"guess": "z"}}, {"nowhere": {"guess": "a"}},
                                   {"softmax": {"guess": ["a"]}}, {"softmax": {"#": "ends"}}])
def test_nothing_is_remembered_but_controls_that_there_are(value):
    assert parse_event(value) == {}


def test_answers_come_back_and_the_rest_stays_outside():
    said = {"softmax": {"guess": "b", "t": "4", "check_9": "a"}, "scale": {"guess": "c", "dk": "x"}, "x": {}}
    assert parse_event(said) == {"softmax": {"guess": "b", "t": 4.0}, "scale": {"guess": "c"}}


def test_the_mark_counts_what_is_right():
    right = "abcd"[strings("lessons/softmax")["predict"]["right"]]
    wrong = next(letter for letter in "abcd" if letter != right)
    assert right_answers("softmax", {"guess": right}) == (1, 1) and right_answers("softmax", {"guess": wrong}) == (0, 1)
