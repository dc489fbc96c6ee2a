"""Progress through the lessons. The browser stores each lesson's controls, including answers, and a lesson reopens
where it was left. The start page shows what was answered, and can clear everything."""
from typing import Any

import streamlit as st

from clearhead.viz.app.page import PageContext, pages
from clearhead.viz.app.session import Kept
from clearhead.viz.components.component import component_value, registered
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.lesson_questions import LETTERS, prompts

KEY = "progress"
# what the browser remembers: {lesson: {control: value}}
Progress = dict[str, dict[str, Any]]
_KNOWN = Kept[Progress | None](None)        # None until the browser has answered
_FORGET = Kept[tuple[str, ...]](())         # lessons to delete from the browser's memory
_RESUMED = Kept[frozenset[str]](frozenset())   # lessons opened during this visit


def resume(page: PageContext) -> None:
    """Restore a lesson to where this browser left it, unless it was opened before during this visit or a link sets its
    controls."""
    known = _KNOWN.value
    if known is None or page.name in _RESUMED.value:
        return
    _RESUMED.value |= {page.name}
    left = known.get(page.name)
    if left and not page.state.controls_of(page.name) and not page.present:
        page.set(passing=True, **left)
        st.rerun()


def remember(page: PageContext) -> None:
    """Store this lesson's controls, taken from its URL, in the browser (js/progress.js)."""
    _tell({"lesson": page.name, "controls": [control.name for control in page.about.controls]})


def progress() -> Progress:
    """Return what this browser remembers, by lesson. Empty until the browser has answered; then the page reruns."""
    _tell({"lesson": "", "controls": []}, again=True)
    return _KNOWN.value or {}


def forget(page: PageContext, *names: str) -> None:
    """Reset these lessons in this browser and in the session, in a button's callback."""
    _FORGET.value += names
    page.correct(control_values=frozenset(each for each in page.state.control_values if each[0] not in names))
    page.write_address()


def right_answers(name: str, left: dict[str, object]) -> tuple[int, int]:
    """Return the numbers of correct answers and of answered questions in a lesson."""
    asked = prompts(strings(f"lessons/{name}"))
    found = [asked[control]["right"] == LETTERS.index(letter) for control, letter in left.items() if control in asked]
    return sum(found), len(found)


def _tell(data: dict[str, object], again: bool = False) -> None:
    """Send data to the browser. again: request what it remembers once more."""
    registered("progress", "js/progress.js", "module.progress")(
        key=KEY, data=data | {"read": again or _KNOWN.value is None, "known": _KNOWN.value is not None,
                              "forget": list(_FORGET.value)}, on_event_change=_take)
    _FORGET.value = ()


def _take() -> None:
    _KNOWN.value = parse_event(component_value(KEY))


def parse_event(value: object) -> Progress:
    """Parse the browser's memory, dropping values that are invalid for the lesson's controls."""
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
