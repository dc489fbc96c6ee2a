"""Parts shared by lessons: questions, whose answers are explained once one is given, and drawn lines."""
import tomllib

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from clearhead.viz.app.page import lessons, pages
from clearhead.viz.style.text import FOLDER, strings
from clearhead.viz.widgets.lesson import LETTERS, PLACES, QUESTIONS, drawn_lines
from clearhead.viz.widgets.progress import parse_event, right_answers


@pytest.mark.parametrize("name", lessons())
def test_questions_of_a_lesson_have_their_answers(name):
    prose = tomllib.loads((FOLDER / "lessons" / f"{name}.toml").read_text(encoding="utf-8"))
    prompts = [each for each in prose.values() if isinstance(each, dict) and "answers" in each and "ask" in each]
    assert prompts and all(3 <= len(each["answers"]) <= len(LETTERS) and 0 <= each["right"] < len(each["answers"])
                           for each in prompts)
    assert all(set(answer) == {"text", "why"} for each in prompts for answer in each["answers"])
    assert all(3 <= len(each["answers"]) <= len(LETTERS) and 0 <= each["right"] < len(each["answers"])
               for each in prose["check"])
    assert pages()[name][0].controls[:3] == QUESTIONS


def test_height_on_linear_axes_is_a_share_of_the_range():
    (line,) = drawn_lines(np.linspace(0, 1, PLACES), np.array([0.0, 5.0, 10.0]), (-2.0, 2.0))
    assert line.y == pytest.approx([-2, 0, 2]) and drawn_lines((), np.array([0.0, 1.0]), (0.0, 1.0)) == []


PROMPT = {"ask": "Which?", "right": 1,
          "answers": [{"text": "this", "why": "Not this."}, {"text": "that", "why": "Yes."}]}


def page(prompt, chosen, show):
    from clearhead.viz.app.state import State
    from clearhead.viz.widgets.lesson_questions import ask

    class Asking(dict):
        state, present, set = State(show=show), False, None

    ask(Asking(guess=chosen), prompt, "guess", "Predict first")


@pytest.mark.parametrize(("chosen", "show", "said", "button"), [
    ("", False, [], "Show me"),
    ("a", False, ["✗ **this** *(chosen)*  \nNot this.\n\n✓ **that**  \nYes."], "Clear my answer"),
    ("", True, ["✗ **this**  \nNot this.\n\n✓ **that**  \nYes."], "Hide the answers")])
def test_answers_are_explained_once_one_is_chosen_or_all_are_shown(chosen, show, said, button):
    app = AppTest.from_function(page, args=(PROMPT, chosen, show)).run(timeout=30)
    assert [each.value for each in app.markdown] == ["**Predict first.** Which?", *said]
    assert [each.label for each in app.button] == [button]
    assert [each.options for each in app.radio] == ([] if said else [["this", "that"]])


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
