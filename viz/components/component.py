"""A component on a page: two messages in, one event out, and a picture to store.

The *body* holds what is large and rarely changes (thumbnails, weights, tokens), the *state* what a click changes (which
head is open, which token is in focus). Streamlit resends a whole element whenever anything in it changes, so the state
is a separate element without height. A click on a 256-token head then costs a kilobyte instead of a quarter of a
megabyte. In the browser, body and state are joined by a channel named after the key. The drawing code is loaded from
files (files.py).
"""
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from model.core.view import View
from viz.components.files import module_code

Event = TypeVar("Event")


@functools.cache
def registered(name: str, file: str, function: str, otherwise: str | None = "", beside: str = "",
               isolate_styles: bool = True) -> Callable[..., object]:
    """Return a Streamlit component, registered once, whose JavaScript is a function of a module (files.module_code)."""
    import streamlit as st  # messages can be packed without it

    code = module_code(file, function, otherwise, beside)
    return st.components.v2.component(f"clearhead_{name}", js=code, isolate_styles=isolate_styles)


def component_value(key: str, name: str = "event") -> object:
    """Return what the component with this key last sent under this name; None if there is nothing, for example because
    its page was left."""
    import streamlit as st

    return (st.session_state.get(key) or {}).get(name)


@dataclass(frozen=True)
class Picture:
    """A component's output: enough to draw it again elsewhere."""

    component: str           # the name of its folder
    key: str                 # its key on the page
    body: bytes              # the large message
    state: bytes             # the message that clicks change
    view: View | None        # of the records shown, if it is about a head


def show(name: str, key: str, body: bytes, state: bytes, read: Callable[[object], Event | None] = lambda value: None,
         on_event: Callable[[Event], None] | None = None, view: View | None = None) -> Picture:
    """Draw the component in the folder `name`. `read` converts the browser's message to an event or None; `on_event`
    receives the event before the page reruns. Without them, saved messages are drawn again, and selections in them stay
    in the browser."""
    import streamlit as st

    def hand_on() -> None:
        event = read(component_value(key))
        if event is not None and on_event is not None:
            on_event(event)

    drawing = registered(name, "js/component.js", f"module.component({json.dumps(name)})", None, f"{name}/{name}.js")
    with st.container(gap=None):
        drawing(key=key, data=body, on_event_change=hand_on)
        registered("state", "js/state.js", "module.state")(key=f"{key}-state", data=state)
    return Picture(name, key, body, state, view)
