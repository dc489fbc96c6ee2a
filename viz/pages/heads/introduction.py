"""What greets a new user on the page: an introduction, which stays until it is dismissed or a sentence is typed, and a
short tour of cards beside the page's parts, which is offered once per visit."""
from typing import Literal

import streamlit as st

from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.components.component import registered
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.layout import flex_row

COOKIE = "clearhead_known"     # what a browser has done with the introduction
SEEN, DISMISSED = "0", "1"
_SHOWN = Kept[bool | None](None)
_STORED = Kept("")   # the cookie's value to be stored; "" for none
STEPS = ("strip", "heads-lead", "grid", "heads-open", "heads-what-if")   # container keys of the parts
_STEP = Kept(-1)        # index of the current step; −1 for none
_CLOSED = Kept(False)   # whether the tour was taken or dismissed


def introduce(page: PageContext) -> bool:
    """Draw the introduction on a browser's first visit, unless it opened a link with a view, and return whether it was
    drawn."""
    if _SHOWN.value is None:
        known = st.context.cookies.get(COOKIE)
        _SHOWN.value = known == SEEN or (known != DISMISSED and not st.query_params)
        _STORED.value = SEEN if _SHOWN.value else ""
    if _STORED.value:
        registered("cookie", "js/cookie.js", "module.cookie")(key="known", data=[COOKIE, _STORED.value])
    if not _SHOWN.value or page.present:
        return False
    words = strings("introduction")

    def dismiss() -> None:
        _SHOWN.value, _STORED.value = False, DISMISSED

    def typed() -> None:
        if text := st.session_state["way-sentence"].strip():
            dismiss()
            page.set(text=text, text_b=None)

    with flex_row("center", gap="xsmall", key="introduction"):
        st.markdown(words["sentence"], width="content")
        tour_button("primary")
        with st.popover(words["own"]):
            st.text_input(words["own_label"], key="way-sentence", placeholder=words["own_example"],
                          on_change=typed)
        st.button("", key="way-close", icon=":material/close:", type="tertiary", help=words["close"], on_click=dismiss)
    return True


def tour_button(type: Literal["primary", "tertiary"] = "tertiary") -> None:
    """Draw the button that starts the tour, unless it was already taken."""
    if not _CLOSED.value and _STEP.value < 0:
        st.button(strings("heads")["tour"]["title"], key="tour-start", type=type, icon=":material/explore:",
                  on_click=_go, args=(0,))


def tour_card() -> None:
    """Draw the card of the current step and a frame around its part."""
    words, step = strings("heads")["tour"], _STEP.value
    if step < 0 and not _CLOSED.value:
        return
    registered("tour", "js/tour.js", "module.step")(key="tour-frame", data=[STEPS[step] if step >= 0 else None])
    if step < 0:
        return
    last = step == len(STEPS) - 1
    with st.container(border=True, key="tour"):
        st.markdown(f"**{step + 1} / {len(STEPS)}** · {words['steps'][step]}")
        with flex_row(gap="small"):
            if step:
                st.button(words["back"], key="tour-back", on_click=_go, args=(step - 1,))
            if not last:
                st.button(words["next"], key="tour-next", type="primary", on_click=_go, args=(step + 1,))
            st.button(words["close"], key="tour-close", type="primary" if last else "tertiary", on_click=_go,
                      args=(-1,))


def _go(step: int) -> None:
    _STEP.value, _CLOSED.value = step, step < 0
