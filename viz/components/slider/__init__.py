"""One of many in a row, by a thumb on a line. Streamlit's own slider says nothing while one drags; pictures move with
this one."""
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz.components.component import component_value
from viz.components.files import module_code
from viz.components.slider.payload import message, parse_event

__all__ = ["slider"]

_SLIDER = st.components.v2.component("clearhead_slider", js=module_code("slider/slider.js", "module.slider()"))


def slider(label: str, options: Sequence[Any], value: Any, *, key: str, turn: Callable[[Any], None],
           say: Callable[[Any], str] = str, help: str | None = None) -> None:
    """Draws the options with the thumb at `value`, which is one of them; say gives an option's words. A move calls
    turn(option) before the page runs again. While one drags or keeps a key pressed, a move is sent about twelve times a
    second. Arrow keys, Page Up and Page Down, Home and End move the thumb. The key begins with "slider-". """
    words = [say(option) for option in options]

    def hand_on() -> None:
        at = parse_event(component_value(key, "moved"), words)
        if at is not None:
            turn(options[at])

    # in a list: a dict would be searched for tables by Streamlit, which imports pandas for that, half a second
    _SLIDER(key=key, data=[message(label, words, options.index(value), help, component_value(key, "moved"))],
            on_moved_change=hand_on)
