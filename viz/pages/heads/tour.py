"""A short tour of the page: cards beside its parts, one at a time. Once closed, it is not offered again during the
visit."""
import streamlit as st

from viz.components.component import registered
from viz.session import Kept
from viz.text import strings

STEPS = ("strip", "heads-lead", "grid", "heads-open", "heads-what-if")   # container keys of the parts
_STEP = Kept(-1)        # index of the current step; −1 for none
_CLOSED = Kept(False)   # whether the tour was taken or dismissed


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
        with st.container(horizontal=True, gap="small"):
            if step:
                st.button(words["back"], key="tour-back", on_click=_go, args=(step - 1,))
            if not last:
                st.button(words["next"], key="tour-next", type="primary", on_click=_go, args=(step + 1,))
            st.button(words["close"], key="tour-close", type="primary" if last else "tertiary", on_click=_go,
                      args=(-1,))


def _go(step: int) -> None:
    _STEP.value, _CLOSED.value = step, step < 0
