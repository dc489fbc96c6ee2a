"""No lesson gives away an answer that it asks for, and the search for such leaks finds a planted one."""
import json
import re
from functools import cache

import pytest

from clearhead.viz.app.page import lessons, pages
from clearhead.viz.style.text import strings
from tests.lesson_pages import Shown, shown

RUN = 4   # this many consecutive words in common with the right answer count as giving it away


def given_away(prompt: dict, shown: str) -> list[str]:
    """Return the parts of the right answer, runs of four words and numbers, that appear elsewhere on the page."""
    right = prompt["answers"][prompt["right"]]
    known = " ".join([prompt["ask"], *(each["text"] for place, each in enumerate(prompt["answers"])
                                       if place != prompt["right"])])
    told = {each for part in (right["text"], right["why"]) for each in (*_runs(part), *_numbers(part))}
    open_anyway = {*_runs(known), *_numbers(known)}
    page = {*_runs(shown), *_numbers(shown)}
    return sorted((told - open_anyway) & page)


def _runs(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]+", re.sub(r"\$[^$]*\$", " ", text.lower()))
    return {" ".join(words[start:start + RUN]) for start in range(len(words) - RUN + 1)}


def _numbers(text: str) -> set[str]:
    """Return the numbers that are unlikely to appear by chance: those with a decimal point or at least three digits."""
    return {each for each in re.findall(r"\d+(?:[.,]\d+)*", text) if len(re.sub(r"\D", "", each)) > 2 or "." in each}


PROMPT = {"ask": "What is the largest weight at 512?", "right": 1,
          "answers": [{"text": "About 0.25.", "why": "No."},
                      {"text": "Nearly 0.998.", "why": "One key takes all of it, as the scores spread like 22.6."},
                      {"text": "It cannot be said.", "why": "It can."}]}


@pytest.mark.parametrize(("shown", "found"), [
    ("The weight of 0.25 at 512, and nothing else.", []), ("key 0.998 of a spread of 22.6", ["0.998", "22.6"]),
    ("ONE KEY\ntakes **all** of it", ["key takes all of", "one key takes all", "takes all of it"])])
def test_numbers_and_runs_of_words_are_found(shown, found):
    assert given_away(PROMPT, shown) == found


# (lesson, table of its prose, control) of every question before those at the end
QUESTIONS = [(name, table, control.name) for name in lessons() for table, control in zip(
    (table for table, each in strings(f"lessons/{name}").items()
     if isinstance(each, dict) and isinstance(each.get("right"), int)),
    (each for each in pages()[name][0].controls if each.name.startswith("guess")), strict=True)]


def parts(page: Shown) -> set[str]:
    """Return a lesson's sections with numbers and its charts, whether drawn before or after the answer."""
    return {*page.numbers, *(re.sub("-(before|answered)$", "", chart) for chart in page.charts)}


@cache
def parts_told(name: str) -> set[str]:
    """Return the parts that a lesson shows once all its questions are answered."""
    return parts(shown(name, **{control: "a" for lesson, _, control in QUESTIONS if lesson == name}))


@pytest.mark.parametrize(("name", "table", "control"), QUESTIONS)
def test_lesson_states_an_answer_only_after_it_is_given(name, table, control):
    """With every other question of the lesson answered."""
    prompt, others = strings(f"lessons/{name}")[table], {each: "a" for lesson, _, each in QUESTIONS if lesson == name}
    page = shown(name, **{each: answer for each, answer in others.items() if each != control})
    own = {prompt["ask"], *(answer["text"] for answer in prompt["answers"])}
    words = [each for each in page.words if not any(part in each for part in own)]
    drawn = [json.dumps([trace.get("name"), str(trace.get("x"))[:200]], default=str)
             for chart in page.charts.values() for trace in chart["data"]]
    assert given_away(prompt, "\n".join([*words, *page.alts.values(), *drawn])) == []
    assert not any(strings(f"lessons/{name}")["remember"][0] in each for each in page.words)
    covered = name not in ("softmax", "story")   # where no section waits
    assert (parts(page) < parts_told(name)) == covered
