"""Put a component on a page: it receives two messages and sends events.

The *body* holds large, rarely changing data (thumbnails, weights, tokens); the *state* holds what a click changes (the
open head, the token in focus). Streamlit resends a whole element whenever anything in it changes, so the state is a
separate element without height. A click on a 256-token head then sends a kilobyte instead of a quarter of a megabyte.
In the browser, a channel named after the key joins body and state. The drawing code is loaded from files (files.py).
"""
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from clearhead.model.core.query import frozen
from clearhead.viz.components.messages import pack
from clearhead.viz.style import theme
from clearhead.viz.style.text import strings

Event = TypeVar("Event")


@functools.cache
def registered(name: str, file: str, function: str, otherwise: str | None = "",
               isolate_styles: bool = True, before: str = "") -> Callable[..., object]:
    """Register a Streamlit component once and return it. Its JavaScript is a function of a module: see
    files.module_code. before: code that runs while the module is being loaded."""
    import streamlit as st  # neither is needed to pack messages

    from clearhead.viz.components.files import module_code

    code = before + module_code(file, function, otherwise)
    return st.components.v2.component(f"clearhead_{name}", js=code, isolate_styles=isolate_styles)


def component_value(key: str, name: str = "event") -> object:
    """Return the value that the component with this key last sent under this name; None if there is none, for example
    after the reader left the page."""
    import streamlit as st

    return (st.session_state.get(key) or {}).get(name)


def constants(texts: str, table: str = "components") -> dict[str, object]:
    """Return colours and the texts of a table, for a body."""
    return {"colours": theme.COMPONENT, "text": strings(table)[texts]}


def message(part: str, room: str, header: Mapping[str, object],
            arrays: Mapping[str, np.ndarray] | None = None) -> bytes:
    """Pack a component's message. part: "body" or "state". room: name of the channel."""
    return pack({"room": room, "part": part, **header}, arrays or {})


def sole(value: object, name: str) -> Any:
    """Return the value of a browser event, {name: value}; None for any other event."""
    return value.get(name) if isinstance(value, dict) and len(value) == 1 else None


@frozen
class Selection:
    """What a reader selected in a sentence, a head or a picture."""

    token: int | None                                  # the query token in focus
    pair: tuple[int, int] | None = None                # (query token, key token)
    marks: tuple[tuple[int, int], ...] | None = None   # cells of a finished prediction, or None


def parse_selection(value: object, queries: range | frozenset[int],
                    keys: range | frozenset[int] = frozenset()) -> Selection | None:
    """Parse a browser event, {"token": query or null} and perhaps "pair": [query, key] or null; None for anything
    else."""
    if not isinstance(value, dict) or not {"token"} <= set(value) <= {"token", "pair"}:
        return None
    token, pair = value["token"], value.get("pair")
    if token is not None and not (type(token) is int and token in queries):
        return None
    if pair is None:
        return Selection(token)
    if not isinstance(pair, list) or len(pair) != 2 or any(type(place) is not int for place in pair):
        return None
    return Selection(token, (pair[0], pair[1])) if pair[0] in queries and pair[1] in keys else None


def show(name: str, key: str, body: bytes, state: bytes, read: Callable[[object], Event | None] = lambda value: None,
         on_event: Callable[[Event], None] | None = None) -> None:
    """Draw the component in the folder `name`.

    read: converts the browser's message to an event, or None. on_event: receives the event before the page reruns.
    Without both, selections stay in the browser.
    """
    import streamlit as st

    def hand_on() -> None:
        event = read(component_value(key))
        if event is not None and on_event is not None:
            on_event(event)

    drawing = registered(name, "js/component.js", f"module.component({json.dumps(name)})", None)
    with st.container(gap=None):
        drawing(key=key, data=body, on_event_change=hand_on)
        registered("state", "js/component.js", "module.state")(key=f"{key}-state", data=state)


def show_here(name: str, key: str, body: Mapping[str, object], state: Mapping[str, object],
              read: Callable[[object], Event | None], on_event: Callable[[Event], None] | None,
              arrays: Mapping[str, np.ndarray] | None = None) -> None:
    """Draw a component that is part of its page. body, state: the two messages' fields; arrays: of the body. read,
    on_event: see `show`."""
    show(name, key, message("body", key, body, arrays), message("state", key, state), read, on_event)
