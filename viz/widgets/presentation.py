"""Presentation mode: large letters for a room. P turns it on and off on every page, present=1 in the URL begins with
it.

A lesson becomes a row of screens, through which arrows and clickers step (viz/components/js/stage.js); its controls
stay. On the page Handout one figure fills the screen and arrows step through the others; on any other page the picture
stands alone and larger, an arrow opens the handout, if there is a figure in it, and Escape leads back. """
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from viz.components.component import component_value, registered
from viz.link import SCREEN
from viz.page import PageContext
from viz.streamlit_patch import went_back
from viz.text import strings

FOLDER = Path(__file__).parent.parent


def prepare_room(lesson: bool) -> None:
    """Before anything is drawn: a lesson as screens with its controls, any other page as the picture alone; both
    larger."""
    st.html(FOLDER / "present.css")
    st.html(FOLDER / ("lecture.css" if lesson else "present_picture.css"))


def listen_for_keys(page: PageContext, lesson: str, step: Callable[[int], None]) -> None:
    """Listens to the keys; the last thing on a page, for it takes a line. lesson: the title of the lesson that is
    open, else "". step(+1 or -1) is called before the page runs, where no lesson is. A fragment: the page does not run
    because another screen of it is seen."""
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
            (page.present if kind == "on" else step)(said)

    @st.fragment
    def listen() -> None:
        if turned:
            st.rerun()
        words = {"leave": strings("frame")["leave_presentation"]}
        if lesson:
            words = {"lesson": lesson, "screen": page.state.screen, "back": went_back(), "text": strings("lecture")}
        # in a list, as the slider's message
        keys = registered("keys", "js/presentation.js", "module.keys", isolate_styles=False)
        keys(key="presentation", data=[{"on": page.state.present} | words], on_event_change=hand_on)

    listen()


def parse_event(value: Any) -> tuple[str, Any] | None:
    """What a browser sent: {"on": true or false}, {"step": 1 or -1} or {"screen": its name}; None for anything else."""
    if value in ({"on": True}, {"on": False}) and isinstance(value["on"], bool):
        return "on", value["on"]
    if value in ({"step": 1}, {"step": -1}) and type(value["step"]) is int:
        return "step", value["step"]
    if isinstance(value, dict) and set(value) == {"screen"} and isinstance(value["screen"], str):
        return ("screen", value["screen"]) if re.fullmatch(SCREEN, value["screen"], re.ASCII) else None
    return None
