"""Widgets for a page's own controls: each shows frame.controls[name] and turns it."""
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import streamlit as st

from viz.components.slider import slider
from viz.page import Frame
from viz.widgets.fields import bound


def stops(low: float, high: float, per_decade: int) -> list[float]:
    """Evenly spaced on a log axis from low to high, each rounded to two digits that count; low and high themselves are among them."""
    count = round(math.log10(high / low) * per_decade) + 1
    return sorted({float(f"{each:.2g}") for each in np.geomspace(low, high, count)} | {low, high})


def slide(frame: Frame, name: str, label: str, options: Iterable[float], say: Callable[[Any], str] = lambda value: f"{value:g}",
          help: str | None = None, closed: bool = False) -> None:
    """A slider over `options`. A value that a link brought and that is none of them becomes one; where there are no others (`closed`), the nearest
    stands for it, as the page has to take that, too."""
    value, options = frame.controls[name], list(options)
    if closed:
        value = min(options, key=lambda each: abs(each - value))
    slider(label, sorted({*options, value}), value, say=say, help=help, key=f"slider-{name}", turn=lambda chosen: frame.turn(**{name: chosen}))


def pick(frame: Frame, name: str, label: str, options: dict[str, str], help: str | None = None) -> None:
    """One of a few, all in view, under its label; options is {value: words}."""
    st.segmented_control(label, list(options), format_func=lambda each: options[each], required=True, help=help,
                         **bound(frame.turn, name, frame.controls[name]))


def switch(frame: Frame, name: str, label: str, help: str | None = None) -> None:
    st.toggle(label, help=help, **bound(frame.turn, name, frame.controls[name]))


def several(frame: Frame, name: str, label: str, options: dict[int, str]) -> None:
    """Any of a few numbered things, as small buttons; options is {number: words}."""
    st.pills(label, list(options), format_func=lambda each: options[each], selection_mode="multi",
             **bound(lambda **changes: frame.turn(**{field: tuple(value) for field, value in changes.items()}), name, list(frame.controls[name])))


def push(frame: Frame, words: str, key: str, **changes: Any) -> None:
    """A button that turns several controls at once."""
    st.button(words, key=key, on_click=lambda: frame.turn(**changes))
