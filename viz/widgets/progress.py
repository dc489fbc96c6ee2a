"""How far one is in the lessons. This browser remembers the controls of each, answers among them; a lesson opens where
one was, the start page shows what was answered, and all of it can be forgotten."""
from typing import Any

import streamlit as st

from viz.components.component import component_value, registered
from viz.page import PageContext, pages
from viz.session import Kept
from viz.text import strings
from viz.widgets.lesson_questions import LETTERS, prompts

KEY = "progress"
# by lesson what the browser remembers: {control: value}
Progress = dict[str, dict[str, Any]]
_KNOWN = Kept[Progress | None](None)        # None: the browser has not been asked
_FORGET = Kept[tuple[str, ...]](())         # the lessons that it shall forget
_RESUMED = Kept[frozenset[str]](frozenset())   # the lessons that were opened in this visit


def resume(page: PageContext) -> None:
    """Open a lesson where this browser left it, unless it was open in this visit before, or a link says otherwise."""
    known = _KNOWN.value
    if known is None or page.name in _RESUMED.value:
        return
    _RESUMED.value |= {page.name}
    left = known.get(page.name)
    if left and not page.state.controls_of(page.name) and not page.state.present:
        page.set(passing=True, **left)
        st.rerun()


def remember(page: PageContext) -> None:
    """Let the browser remember this lesson from its address, which holds the controls (js/progress.js)."""
    _tell({"lesson": page.name, "controls": [control.name for control in page.about.controls]})


def progress() -> Progress:
    """By lesson what this browser remembers; empty until it has said so, and the page then runs again."""
    _tell({"lesson": "", "controls": []}, again=True)
    return _KNOWN.value or {}


def forget(page: PageContext, *names: str) -> None:
    """For a button's callback: these lessons begin again, in this browser and on the pages that are open here."""
    _FORGET.value += names
    page.correct(control_values=frozenset(each for each in page.state.control_values if each[0] not in names))
    page.write_address()


def right_answers(name: str, left: dict[str, object]) -> tuple[int, int]:
    """Return (right, answered) of a lesson's questions."""
    asked = prompts(strings(f"lessons/{name}"))
    found = [asked[control]["right"] == LETTERS.index(letter) for control, letter in left.items() if control in asked]
    return sum(found), len(found)


def _tell(data: dict[str, object], again: bool = False) -> None:
    """again: whether the browser shall say once more what it remembers."""
    registered("progress", "js/progress.js", "module.progress")(
        key=KEY, data=data | {"read": again or _KNOWN.value is None, "known": _KNOWN.value is not None,
                              "forget": list(_FORGET.value)}, on_event_change=_take)
    _FORGET.value = ()


def _take() -> None:
    _KNOWN.value = parse_event(component_value(KEY))


def parse_event(value: object) -> Progress:
    """Return what a browser said that it remembers, less whatever no control of the lesson can be."""
    if not isinstance(value, dict):
        return {}
    known, found = pages(), Progress()
    for name, left in value.items():
        if name in known and isinstance(left, dict):
            controls = [each for each in known[name][0].controls if isinstance(left.get(each.name), str)]
            read = {each.name: each.read(left[each.name]) for each in controls}
            if clean := {control: each for control, each in read.items() if each is not None}:
                found[name] = clean
    return found
