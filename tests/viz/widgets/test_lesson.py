"""The parts shared by lessons."""
import tomllib

import numpy as np
import pytest

from viz.page import lessons, pages
from viz.text import FOLDER
from viz.widgets.lesson import LETTERS, PLACES, QUESTIONS, drawn_lines


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
