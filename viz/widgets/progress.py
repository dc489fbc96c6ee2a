"""What was answered in the lessons: this browser remembers it, the start page shows it, and it can be forgotten."""
from typing import Any

from viz.components.component import component_value, registered
from viz.page import PageContext, pages
from viz.session import Kept
from viz.text import strings
from viz.widgets.lesson_questions import LETTERS, prompts

KEY = "progress"
_KNOWN = Kept[dict[str, dict[str, str]] | None](None)   # what the browser remembers of the lessons; None: not asked
_FORGET = Kept(False)                                    # whether it shall forget that
# the answers at one lesson: {control: letter}
Answers = dict[str, str]


def remember_answers(page: PageContext) -> None:
    """Gives the browser what is answered on this lesson's page; an answer that was cleared stays remembered until it is
    given anew, or all are forgotten."""
    known, answers = _KNOWN.value, {name: value for name, value in page.controls.items() if is_question(name) and value}
    if not answers:
        return
    if known is not None:
        _KNOWN.value = known | {page.name: known.get(page.name, {}) | answers}
    _tell({"lesson": page.name, "answers": answers})


def answered() -> dict[str, Answers]:
    """By lesson what this browser remembers; empty until it has said so, and the page then runs again."""
    _tell({"read": _KNOWN.value is None, "forget": _FORGET.value})
    _FORGET.value = False
    return _KNOWN.value or {}


def forget(page: PageContext) -> None:
    """For a button's callback: the browser forgets all answers, and so do the lessons that are open here."""
    _FORGET.value, _KNOWN.value = True, {}
    page.correct(control_values=frozenset(each for each in page.state.control_values if not is_question(each[1])))


def is_question(control: str) -> bool:
    """Whether a control of a lesson holds the answer to a question."""
    return control.startswith(("guess", "check_"))


def right_answers(name: str, answers: Answers) -> tuple[int, int]:
    """(right, answered) of a lesson's questions."""
    asked = prompts(strings(f"lessons/{name}"))
    found = [asked[control]["right"] == LETTERS.index(letter) for control, letter in answers.items()
             if control in asked]
    return sum(found), len(found)


def _tell(data: dict[str, object]) -> None:
    registered("progress", "js/progress.js", "module.progress")(key=KEY, data=data, on_event_change=_take)


def _take() -> None:
    _KNOWN.value = parse_event(component_value(KEY))


def parse_event(value: Any) -> dict[str, Answers]:
    """What a browser said that it remembers, less whatever cannot have been answered here."""
    if not isinstance(value, dict):
        return {}
    known = pages()
    return {name: clean for name, answers in value.items() if name in known and isinstance(answers, dict)
            if (clean := {control.name: answers[control.name] for control in known[name][0].controls
                          if is_question(control.name) and answers.get(control.name) in LETTERS})}
