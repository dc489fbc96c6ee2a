"""How a component stands on a page: two messages, one event; and the picture that it leaves behind, for whoever keeps
pictures.

The *body* holds what is large and rarely changes (thumbnails, weights, tokens), the *state* what a click changes (which
head is open, which token is in focus). Streamlit sends an element again as a whole whenever anything in it changes; so
the state is an element of its own, without height. Then a click on a 256-token head costs a kilobyte and not a quarter
of a megabyte. In the browser body and state meet in a channel named after the key. What draws comes as files
(files.py).
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
    """Return a component of Streamlit's, registered once, whose JavaScript is a function of a module
    (files.module_code)."""
    import streamlit as st  # messages are packed without it

    code = module_code(file, function, otherwise, beside)
    return st.components.v2.component(f"clearhead_{name}", js=code, isolate_styles=isolate_styles)


def component_value(key: str, name: str = "event") -> object:
    """Return what a component of this key last sent under this name; None where nothing is there, as of a page that was
    just left."""
    import streamlit as st

    return (st.session_state.get(key) or {}).get(name)


@dataclass(frozen=True)
class Picture:
    """What a component drew: enough to draw it again somewhere else."""

    component: str           # the name of its folder
    key: str                 # under which it stands on the page
    body: bytes              # the message of what is large
    state: bytes             # the message of what a click changes
    view: View | None        # of the records that it shows, where it is about a head


def show(name: str, key: str, body: bytes, state: bytes, read: Callable[[object], Event | None] = lambda value: None,
         on_event: Callable[[Event], None] | None = None, view: View | None = None) -> Picture:
    """Draw the component of the folder `name`. `read` turns what the browser sent into an event or None; `on_event`
    gets the event before the page runs again. Without them messages that were made before are drawn again, and what is
    chosen in them stays in the browser."""
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
