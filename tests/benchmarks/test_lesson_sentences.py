"""What the count of sentences says is missing."""
import pytest

from benchmarks.lesson_sentences import files_of, lines_of, unvisited
from tests.lesson_pages import shown
from tests.lesson_tally import TALLY
from viz.page_controls import Choice, Number, Numbers, Switch
from viz.widgets.lesson import lessons


@pytest.mark.parametrize(("control", "values", "missing"), [
    (Number("t", 1, 0, 2), {0, 1, 2}, []), (Number("t", 1, 0, 2), {1}, ["t = 0", "t = 2"]),
    (Number("t", 1, 0, 2), {0, 2}, ["t between its ends"]), (Choice("a", "x", ("x", "y")), {"x"}, ["a = y"]),
    (Switch("on"), {False}, ["on on"]), (Numbers("z", (0.0,), 0, 1, 1, 1), {(0.0,)}, ["z moved"])])
def test_what_no_test_visits_is_named(control, values, missing):
    assert unvisited(control, values) == missing


def test_a_sentence_counts_once_it_was_read():
    before = len(TALLY.positions["softmax"])
    page = shown("softmax", guess="c", drawn=(1.0,) * 17)
    assert len(TALLY.positions["softmax"]) == before + 1
    here = TALLY.positions["softmax"][-1]
    assert "notice curves 0" in here.there and "alt softmax-curves" in here.there and not here.read
    _, (first, _) = page.alts["softmax-curves"], page.notices["curves"]
    assert here.read == {"alt softmax-curves", "notice curves 0", "notice curves 1"} and first
    assert "softmax " in lines_of("softmax")[0]


def test_every_lesson_has_files_of_its_sentences():
    assert all(files_of(name) for name in lessons())
