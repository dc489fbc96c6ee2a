"""What greets a new user on the page: an introduction with four options, which disappears once one is chosen, and a
short tour of cards beside the page's parts, which is offered once per visit."""
from collections.abc import Callable

import streamlit as st

from clearhead.model import sources
from clearhead.viz.components.component import registered
from clearhead.viz.page import PageContext
from clearhead.viz.session import Kept
from clearhead.viz.text import Texts, strings
from clearhead.viz.widgets.layout import flex_row
from clearhead.viz.widgets.sidebar import want_model

COOKIE = "clearhead_known"   # marks a browser that has visited before
_SHOWN = Kept[bool | None](None)
STEPS = ("strip", "heads-lead", "grid", "heads-open", "heads-what-if")   # container keys of the parts
_STEP = Kept(-1)        # index of the current step; −1 for none
_CLOSED = Kept(False)   # whether the tour was taken or dismissed


def introduce(page: PageContext) -> None:
    """Draw the introduction on a browser's first visit, unless it opened a link with a view."""
    if _SHOWN.value is None:
        _SHOWN.value = not st.query_params and st.context.cookies.get(COOKIE) != "1"
    if not _SHOWN.value or page.present:
        return
    words = strings("introduction")
    with flex_row("center", gap="xsmall", key="introduction"):
        st.markdown(words["sentence"], width="content")
        _typed(words["sentence_way"], 300, lambda text: page.set(text=text, text_b=None))
        for way, name in (("learn", "lessons"), ("teach", "handout")):
            st.button(words[way], key=f"way-{way}", on_click=_take, args=(page.open_next, name))
        if not sources.catalogue_only():
            _typed(words["model_way"], 600, lambda model: want_model(page, model))
        st.button("", key="way-close", icon=":material/close:", type="tertiary", help=words["close"], on_click=_take,
                  args=(int,))
    registered("cookie", "js/cookie.js", "module.cookie")(key="known", data=[COOKIE, "1"])


def _typed(words: Texts, longest: int, act: Callable[[str], None]) -> None:
    """Draw an option that asks for a text first."""
    key = f"way-{words['title']}"

    def typed() -> None:
        if st.session_state[key].strip():
            _take(act, st.session_state[key].strip())

    with st.popover(words["title"]):
        st.text_input(words["label"], key=key, max_chars=longest, placeholder=words["example"], on_change=typed)


def _take(act: Callable[..., object], *given: str) -> None:
    _SHOWN.value = False
    act(*given)


def tour_button() -> None:
    """Draw the button that starts the tour, unless it was already taken."""
    if not _CLOSED.value and _STEP.value < 0:
        st.button(strings("heads")["tour"]["title"], key="tour-start", type="tertiary", icon=":material/explore:",
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
