"""The search for answers that a page gives away can find them, and finds none beside any question of any lesson."""
import json

import pytest

from tests.leaks import given_away
from tests.lesson_pages import shown
from viz.page import pages
from viz.text import strings
from viz.widgets.lesson import lessons

PROMPT = {"ask": "What is the largest weight at 512?", "right": 1,
          "answers": [{"text": "About 0.25.", "why": "No."},
                      {"text": "Nearly 0.998.", "why": "One key takes all of it, as the scores spread like 22.6."},
                      {"text": "It cannot be said.", "why": "It can."}]}


@pytest.mark.parametrize(("shown", "found"), [
    ("The weight of 0.25 at 512, and nothing else.", []),
    ("Of these, one key takes all.", ["one key takes all"]),
    ("key 0.998", ["0.998"]),
    ("a spread of 22.6 here", ["22.6"]),
    ("ONE KEY\ntakes **all** of it", ["key takes all of", "one key takes all", "takes all of it"])])
def test_words_in_a_row_and_numbers_of_the_right_answer_are_found_and_nothing_else(shown, found):
    assert given_away(PROMPT, shown) == found


def questions(name: str) -> list[str]:
    """The tables of a lesson's prose that ask something before the end."""
    return [table for table, each in strings(f"lessons/{name}").items()
            if isinstance(each, dict) and isinstance(each.get("right"), int)]


QUESTIONS = [(name, table, control.name) for name in lessons() for table, control in zip(
    questions(name), [each for each in pages()[name][0].controls if each.name.startswith("guess")], strict=True)]


# the first question of every lesson is searched in a browser: tests/browser/test_every_page.py
FURTHER = [each for each in QUESTIONS if each[1] != "predict"]


@pytest.mark.parametrize(("name", "table", "control"), FURTHER)
def test_no_lesson_as_it_opens_tells_a_further_answer_that_it_asks_for(name, table, control):
    """With every other question of it answered."""
    prompt = strings(f"lessons/{name}")[table]
    page = shown(name, **{other: "a" for lesson, _, other in QUESTIONS if lesson == name and other != control})
    own = {prompt["ask"], *(answer["text"] for answer in prompt["answers"])}
    words = [each for each in page.words if not any(each == part or part in each for part in own)]
    drawn = [json.dumps([trace.get("name"), str(trace.get("x"))[:200]], default=str)
             for chart in page.charts.values() for trace in chart["data"]]
    assert given_away(prompt, "\n".join([*words, *page.alts.values(), *drawn])) == []
    assert not any(strings(f"lessons/{name}")["remember"][0] in each for each in page.words)


def test_every_question_of_every_lesson_is_searched():
    assert {table for _, table, _ in QUESTIONS} == {"predict", "predict_far", "predict_copy"}
    assert len(QUESTIONS) == len(lessons()) + 2
