"""Widgets that show one field of the view and change it; the URL follows from the state."""
from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st


def _hand_on(choose: Callable[..., None], field: str, key: str) -> None:
    value = st.session_state[key]
    if value is not None:
        choose(**{field: value})


def text_value(key: str, text: str) -> dict[str, str]:
    """The arguments that make a text field of this key say `text`. One that says so already is left alone: what is
    written into the session is sent to the browser, where the answer to an earlier question would replace the text, or
    the selection, of somebody who has typed on meanwhile. """
    if st.session_state.get(key, text) == text:
        return {"key": key, "value": text}   # what a browser begins with that has not drawn the field yet
    st.session_state[key] = text
    return {"key": key}


def bind(choose: Callable[..., None], field: str, value: Any) -> dict:
    """The keyword arguments that make a widget show `value` and hand a new one to choose(field=…)."""
    key = f"view_{field}"
    st.session_state[key] = value
    return {"key": key, "on_change": _hand_on, "args": (choose, field, key)}


def segments(label: str, options: dict[str, str], choose: Callable[..., None], field: str, value: str) -> None:
    """One of a few, all in view; options is {value: label}."""
    st.segmented_control(label, list(options), format_func=lambda option: options[option], label_visibility="collapsed",
                         required=True, wrap=True, **bind(choose, field, value))


def select(label: str, options: dict[Any, str], choose: Callable[..., None], field: str, value: Any,
           quiet: bool = False) -> None:
    """One of many; options is {value: label}. `quiet` leaves the label to screen readers."""
    st.selectbox(label, list(options), format_func=lambda option: options[option],
                 label_visibility="collapsed" if quiet else "visible", **bind(choose, field, value))


def toggle(label: str, choose: Callable[..., None], field: str, value: bool) -> None:
    """A switch."""
    st.toggle(label, **bind(choose, field, value))


def pills(label: str, options: Iterable[tuple[Any, str]], choose: Callable[..., None], field: str, chosen: Any,
          key: str) -> None:
    """Small buttons in a row, the chosen one marked: each opens something. options: (value, label)."""
    options = dict(options)
    st.session_state[key] = chosen if chosen in options else None
    st.pills(label, list(options), format_func=lambda option: options[option], label_visibility="collapsed", key=key,
             wrap=True, on_change=_hand_on, args=(choose, field, key))
