"""Presenting: large type for an audience. P toggles it on every page; present=1 in the URL turns it on.

A page becomes a sequence of screens for arrow keys and clickers (viz/components/js/screens.js). A lesson has several
screens, including its controls; any other page is one picture. When a list is presented (viz/widgets/my_lesson.py), the
step after an entry's last screen opens the next entry.
"""
import re
from typing import Any

import streamlit as st

from clearhead.viz.app.link import SCREEN
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.streamlit_patch import went_back
from clearhead.viz.components.component import component_value, registered
from clearhead.viz.style.text import strings
from clearhead.viz.style.theme import STYLES
from clearhead.viz.widgets.my_lesson import place_of, present, step
from clearhead.viz.widgets.page_bar import shortcuts


def prepare(lesson: bool) -> None:
    """Set the enlarged layout before anything is drawn: a lesson as screens with its controls, any other page as its
    picture alone."""
    st.html(STYLES / "present.css")
    if not lesson:
        st.html(STYLES / "present_picture.css")


def listen_for_keys(page: PageContext, lesson: bool) -> None:
    """Listen for keys. Call it last, because its element takes up a line. lesson: whether the page has several screens.
    This is a fragment, so changing the screen does not rerun the page."""
    turned = False

    def hand_on() -> None:
        nonlocal turned
        event = parse_event(component_value("presentation"))
        if event is None:
            return
        kind, said = event
        turned = kind != "screen"
        if kind == "screen":
            page.set(screen=said)
        else:
            (present if kind == "on" else step)(page, said)

    @st.fragment
    def listen() -> None:
        if turned:
            st.rerun()
        state, (place, only) = page.state, place_of(page)
        words = {"id": f"{page.name} {only} {place}", "title": page.about.title, "screen": state.screen,
                 "lesson": lesson, "only": only, "place": place, "back": went_back(),
                 "text": strings("present")} if state.present else {}
        # data must be in a list, like the slider's message
        keys = registered("keys", "js/presentation.js", "module.keys", isolate_styles=False)
        keys(key="presentation", data=[{"on": state.present, "letters": shortcuts()} | words], on_event_change=hand_on)

    listen()


def parse_event(value: object) -> tuple[str, Any] | None:
    """Parse a browser event: {"on": true or false}, {"step": 1 or -1} or {"screen": name}. Return None if it is
    invalid."""
    if value in ({"on": True}, {"on": False}) and isinstance(value["on"], bool):
        return "on", value["on"]
    if value in ({"step": 1}, {"step": -1}) and type(value["step"]) is int:
        return "step", value["step"]
    if isinstance(value, dict) and set(value) == {"screen"} and isinstance(value["screen"], str):
        return ("screen", value["screen"]) if re.fullmatch(SCREEN, value["screen"], re.ASCII) else None
    return None
