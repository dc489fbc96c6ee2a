"""Widgets that show and change one field of the view or one of a page's controls, and keep the URL up to date."""
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from clearhead.model.core.limits import MB
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.app.streamlit_patch import is_written
from clearhead.viz.components.slider import slider
from clearhead.viz.style.text import strings

T = TypeVar("T", bound=Hashable)
_REFUSED = Kept[dict[str, tuple[str, str | None]]]({})   # {key of a field: (typed text, the text to be replaced)}


def _hand_on(choose: Callable[..., None], field: str, key: str) -> None:
    value = st.session_state[key]
    if value is not None:
        choose(**{field: value})


def shown(key: str, value: object, initial: str = "value") -> dict:
    """Return the arguments that make the widget with this key show `value`. initial: the name of its parameter for the
    first value.

    Leaves a widget alone that already shows the value. Writing to the session sends the value to the browser, where it
    could overwrite newer typing or undo a newer click, which is lost if the reader clicks again before it is answered.
    """
    if st.session_state.get(key, value) != value:
        st.session_state[key] = value
    # otherwise the first value, for a browser that has not drawn the widget yet; a tuple, such as a head, is one value
    return {"key": key} if is_written(key) else {"key": key, initial: [value] if isinstance(value, tuple) else value}


def bind(choose: Callable[..., None], field: str, value: object, key: str = "", initial: str = "value") -> dict:
    """Return keyword arguments that make a widget show `value` and pass a new one to choose(field=…). key: of the
    widget, if others on the page set the same field. initial: as in `shown`; "" for a widget that the browser knows by
    the label of its value, which may change while the value does not."""
    key = key or f"view_{field}"
    if not initial or key not in st.session_state:   # a browser of an earlier session may show another value
        st.session_state[key] = value
    given = shown(key, value, initial) if initial else {"key": key}
    return {**given, "on_change": _hand_on, "args": (choose, field, key)}


def segments(label: str, options: dict[str, str], choose: Callable[..., None], field: str, value: str,
             quiet: bool = True) -> None:
    """Draw a choice of a few options, all visible; options is {value: label}. quiet: show the label only to screen
    readers."""
    st.segmented_control(label, list(options), format_func=options.__getitem__, required=True, wrap=True,
                         label_visibility="collapsed" if quiet else "visible",
                         **bind(choose, field, value, initial="default" if value in options else ""))


def select(label: str, options: Mapping[T, str], choose: Callable[..., None], field: str, value: object,
           quiet: bool = False, **look: Any) -> None:
    """Draw a choice from many options; options is {value: label}. quiet: show the label only to screen readers. look:
    as in `st.selectbox`."""
    st.selectbox(label, list(options), format_func=lambda option: options[option],
                 label_visibility="collapsed" if quiet else "visible", **bind(choose, field, value, initial=""), **look)


def text_for(page: PageContext, name: str, label: str, longest: int, **look: Any) -> None:
    """Draw a text field. look: as in `st.text_input`."""
    choose: Callable[..., None] = page.set
    text_field(label, page[name], lambda text: choose(**{name: text}), f"view_{name}", longest, **look)


def text_field(label: str, text: str, take: Callable[[str], None], key: str, longest: int, needed: bool = False,
               **look: Any) -> None:
    """Draw a text field that shows `text`, and pass a new one to `take`. A text that is too long, or empty though one
    is `needed`, stays in the field with a sentence below. look: as in `st.text_input`."""
    typed, instead_of = _REFUSED.value.get(key, ("", None))
    refused = instead_of == text

    def typing() -> None:
        new = st.session_state[key]
        fits = len(new) <= longest and bool(new.strip() or not needed)
        _REFUSED.value = {**_REFUSED.value, key: (new, None if fits else text)}
        if fits:
            take(new)

    st.text_input(label, **shown(key, typed if refused else text), on_change=typing, **look)
    if refused:
        st.error(strings("frame")("long_field" if typed.strip() else "empty_field", count=len(typed), longest=longest))


def toggle(label: str, choose: Callable[..., None], field: str, value: bool, help: str | None = None) -> None:
    """Draw a switch."""
    st.toggle(label, help=help, **bind(choose, field, value))


def pills(label: str, options: Iterable[tuple[T, str]], choose: Callable[..., None], field: str, chosen: object,
          key: str) -> None:
    """Draw a row of small buttons that open things, with the chosen one marked. options: (value, label)."""
    named = dict(options)
    st.pills(label, list(named), format_func=lambda option: named[option], label_visibility="collapsed", wrap=True,
             **bind(choose, field, chosen if chosen in named else None, key, initial="default"))


def log_steps(low: float, high: float, per_decade: int) -> list[float]:
    """Return evenly spaced values on a log axis from low to high (inclusive), rounded to two significant digits."""
    count = round(math.log10(high / low) * per_decade) + 1
    return sorted({float(f"{number:.2g}") for number in np.geomspace(low, high, count)} | {low, high})


def nearest(options: Iterable[float], value: float) -> Any:
    """Return the option that is nearest to a value."""
    return min(options, key=lambda option: abs(option - value))


def slider_for(page: PageContext, name: str, label: str, options: Iterable[float],
               say: Callable[[Any], str] = lambda value: f"{value:g}",
               help: str | None = None, closed: bool = False, width: int | None = None) -> Any:
    """Draw a slider over `options` and return its value. A value from a link that is not an option is added to them, or
    replaced by the nearest one if they are `closed`. width: in pixels; by default all there is."""
    value, options = page[name], list(options)
    if closed:
        value = nearest(options, value)
    with nullcontext() if width is None else st.container(width=width):
        slider(label, sorted({*options, value}), value, say=say, help=help, key=f"slider-{name}",
               turn=lambda chosen: page.set(**{name: chosen}))
    return value


def choice_for(page: PageContext, name: str, label: str, options: dict[str, str]) -> Any:
    """Draw a labelled choice of a few options, all visible, and return the value. options: {value: label}."""
    segments(label, options, page.set, name, page[name], quiet=False)
    return page[name]


def toggle_for(page: PageContext, name: str, label: str, help: str | None = None) -> bool:
    """Draw a switch, and return whether it is on."""
    toggle(label, page.set, name, page[name], help)
    return bool(page[name])


def button_setting(page: PageContext, words: str, key: str, **changes: Any) -> None:
    """Draw a button that sets several controls at once."""
    st.button(words, key=key, on_click=lambda: page.set(**changes))


def most_megabytes(limit: int) -> int:
    """Return the whole megabytes that an uploader states as the limit for `limit` bytes, at most what the server
    accepts."""
    return max(1, min(math.ceil(limit / MB), st.get_option("server.maxUploadSize")))
