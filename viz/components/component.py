"""How a component stands on a page: two messages, one event; and the picture that it leaves behind, for
whoever keeps pictures.

The *body* holds what is large and rarely changes (thumbnails, weights, tokens), the *state* what a click changes (which
head is open, which token is in focus). Streamlit sends an element again as a whole whenever anything in it changes; so
the state is an element of its own, without height. Then a click on a 256-token head costs a kilobyte and not a quarter
of a megabyte. In the browser body and state meet in a room named after the key. What draws comes as files (files.py).
"""
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from model.core.view import View
from viz.components.files import module_code

_STATE = st.components.v2.component("clearhead_state", js=module_code("js/state.js", "module.state", otherwise=""))


def component_value(key: str, name: str = "event") -> Any:
    """What a component of this key last sent under this name; None where nothing is there, as of a page that was just
    left."""
    return (st.session_state.get(key) or {}).get(name)


@dataclass(frozen=True)
class Picture:
    """What a component drew: enough to draw it again somewhere else."""

    component: str           # the name of its folder
    key: str                 # under which it stands on the page
    body: bytes              # the message of what is large
    state: bytes             # the message of what a click changes
    view: View | None        # of the records that it shows, where it is about a head


class Component:
    """A component of this folder, registered with Streamlit once, when its module is imported."""

    def __init__(self, name: str) -> None:
        self._name = name
        code = module_code("js/component.js", f"module.component({json.dumps(name)})", beside=f"{name}/{name}.js")
        self._body = st.components.v2.component(f"clearhead_{name}", js=code)

    def show(self, key: str, body: bytes, state: bytes, read: Callable[[Any], Any],
             on_event: Callable[[Any], None] | None, view: View | None = None) -> Picture:
        """Draws it. `read` turns what the browser sent into an event or None; `on_event` gets the event before the page
        runs again."""
        def hand_on() -> None:
            event = read(component_value(key))
            if event is not None and on_event is not None:
                on_event(event)

        with st.container(gap=None):
            self._body(key=key, data=body, on_event_change=hand_on)
            _STATE(key=f"{key}-state", data=state)
        return Picture(self._name, key, body, state, view)

    def replay(self, body: bytes, state: bytes, *, key: str) -> None:
        """Draws messages that were made before; what is chosen in them stays in the browser."""
        self.show(key, body, state, lambda value: None, None)
