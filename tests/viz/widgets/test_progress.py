"""What a browser may say that it remembers of the lessons."""
import pytest

from viz.text import strings
from viz.widgets.progress import parse_event, right_answers

HOSTILE = [None, 1, "softmax", [], {}, {"softmax": None}, {"softmax": {"guess": "z"}}, {"nowhere": {"guess": "a"}},
           {"softmax": {"t": "a"}}, {"softmax": {"guess": ["a"]}}, {"handout": {"guess": "a"}},
           {"softmax": {"#": "ends"}}]


@pytest.mark.parametrize("value", HOSTILE)
def test_nothing_is_remembered_but_controls_that_there_are(value):
    assert parse_event(value) == {}


def test_answers_come_back_and_the_rest_stays_outside():
    said = {"softmax": {"guess": "b", "t": "4", "check_9": "a"}, "scale": {"guess": "c", "dk": "x"}, "x": {}}
    assert parse_event(said) == {"softmax": {"guess": "b", "t": 4.0}, "scale": {"guess": "c"}}


def test_the_second_question_of_a_lesson_counts_too():
    right = "abcd"[strings("lessons/positions")["predict_far"]["right"]]
    assert right_answers("positions", {"guess_far": right}) == (1, 1)
    assert right_answers("kernels", {"guess": "a", "guess_copy": "a"}) == (0, 2)


def test_the_mark_counts_what_is_right():
    right = "abcd"[strings("lessons/softmax")["predict"]["right"]]
    wrong = next(letter for letter in "abcd" if letter != right)
    assert right_answers("softmax", {"guess": right}) == (1, 1) and right_answers("softmax", {"guess": wrong}) == (0, 1)
