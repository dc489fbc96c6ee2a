"""The progress in lessons that a browser may report."""
import pytest

from viz.text import strings
from viz.widgets.progress import parse_event, right_answers


@pytest.mark.parametrize(("value", "kept"), [
    *((value, {}) for value in (None, [], {"softmax": {"guess": "z"}}, {"nowhere": {"guess": "a"}},
                                {"softmax": {"guess": ["a"]}}, {"softmax": {"#": "ends"}})),
    ({"softmax": {"guess": "b", "t": "4", "check_9": "a"}, "scale": {"guess": "c", "dk": "x"}, "x": {}},
     {"softmax": {"guess": "b", "t": 4.0}, "scale": {"guess": "c"}})])
def test_valid_values_of_existing_controls_are_restored(value, kept):
    assert parse_event(value) == kept


def test_mark_counts_right_answers():
    right = "abcd"[strings("lessons/softmax")["predict"]["right"]]
    wrong = next(letter for letter in "abcd" if letter != right)
    assert right_answers("softmax", {"guess": right}) == (1, 1) and right_answers("softmax", {"guess": wrong}) == (0, 1)
