"""Widgets for a page's own controls: each shows page.controls[name] and turns it."""
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import streamlit as st

from viz.components.slider import slider
from viz.page import PageContext
from viz.widgets.fields import bind


def log_steps(low: float, high: float, per_decade: int) -> list[float]:
    """Evenly spaced on a log axis from low to high, each rounded to two digits that count; low and high themselves are
    among them."""
    count = round(math.log10(high / low) * per_decade) + 1
    return sorted({float(f"{number:.2g}") for number in np.geomspace(low, high, count)} | {low, high})


def slider_for(page: PageContext, name: str, label: str, options: Iterable[float],
               say: Callable[[Any], str] = lambda value: f"{value:g}",
          help: str | None = None, closed: bool = False) -> None:
    """A slider over `options`. A value that a link brought and that is none of them becomes one; where there are no
    others (`closed`), the nearest stands for it, as the page has to take that, too."""
    value, options = page.controls[name], list(options)
    if closed:
        value = min(options, key=lambda option: abs(option - value))
    slider(label, sorted({*options, value}), value, say=say, help=help, key=f"slider-{name}",
           turn=lambda chosen: page.set(**{name: chosen}))


def choice_for(page: PageContext, name: str, label: str, options: dict[str, str], help: str | None = None) -> None:
    """One of a few, all in view, under its label; options is {value: words}."""
    st.segmented_control(label, list(options), format_func=lambda option: options[option], required=True, wrap=True,
                         help=help, **bind(page.set, name, page.controls[name]))


def toggle_for(page: PageContext, name: str, label: str, help: str | None = None) -> None:
    """A switch."""
    st.toggle(label, help=help, **bind(page.set, name, page.controls[name]))


def pills_for(page: PageContext, name: str, label: str, options: dict[int, str]) -> None:
    """Any of a few numbered things, as small buttons; options is {number: words}."""
    st.pills(label, list(options), format_func=lambda option: options[option], selection_mode="multi",
             **bind(page.set, name, list(page.controls[name])))


def button_setting(page: PageContext, words: str, key: str, **changes: Any) -> None:
    """A button that turns several controls at once."""
    st.button(words, key=key, on_click=lambda: page.set(**changes))
