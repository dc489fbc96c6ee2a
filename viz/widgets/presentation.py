"""Presentation mode: large letters, no controls. P turns it on and off on every page, present=1 in the URL begins with
it.

On the page Handout one figure fills the screen and arrows step through the others; on any other page an arrow opens the
handout, if there is a figure in it, and Escape leads back. """
from collections.abc import Callable
from typing import Any

import streamlit as st

from viz.components.component import component_value
from viz.components.files import module_code
from viz.text import strings
from viz.theme import LARGER

# on every page
_KEYS = st.components.v2.component("clearhead_keys", js=module_code("js/presentation.js", "module.keys", otherwise=""),
                                   isolate_styles=False)
CONTROLS = ("stSidebar", "stHeader", "stExpandSidebarButton", "stSelectbox", "stMultiSelect", "stTextInput",
            "stTextArea", "stNumberInput", "stCheckbox", "stRadio", "stButtonGroup", "stPopover", "stButton",
            "stDownloadButton", "stFileUploader", "stExpander", "stPageLink")
# no ring of the keyboard round the page: it would strike the title through
STYLE = ("<style>" + ", ".join(['[class*="st-key-slider-"]', *(f'[data-testid="{control}"]' for control in CONTROLS)])
         + " { display: none !important; }"
         f'div[data-testid="stMainBlockContainer"] {{ max-width: none; padding: 1rem 2rem 0; zoom: {LARGER}; }}'
         '.clearhead-tools { display: none !important; }'
         '[data-testid="stMain"]::before { box-shadow: none !important; }'
         f'.clearhead-chart {{ zoom: calc(1 / {LARGER}); margin-bottom: 32px; }}</style>')


def hide_controls() -> None:
    """Before anything is drawn: the picture alone, and larger."""
    st.html(STYLE)


def listen_for_keys(on: bool, present: Callable[[bool], None], step: Callable[[int], None]) -> None:
    """Listens to the keys; the last thing on a page, for it takes a line. present(on or off) and step(+1 or -1) are
    called before the page runs."""
    def hand_on() -> None:
        event = parse_event(component_value("presentation"))
        if event is not None:
            (present if event[0] == "on" else step)(event[1])

    # in a list, as the slider's message
    _KEYS(key="presentation", data=[{"on": on, "leave": strings("frame")["leave_presentation"]}],
          on_event_change=hand_on)


def parse_event(value: Any) -> tuple[str, Any] | None:
    """What a browser sent: {"on": true or false} or {"step": 1 or -1}; None for anything else."""
    if value in ({"on": True}, {"on": False}) and isinstance(value["on"], bool):
        return "on", value["on"]
    if value in ({"step": 1}, {"step": -1}) and type(value["step"]) is int:
        return "step", value["step"]
    return None
