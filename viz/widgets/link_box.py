"""The address of a state, to be copied."""
import streamlit as st

from viz.link import left_out
from viz.page import PageContext
from viz.provenance import opens_elsewhere
from viz.state import State
from viz.text import strings


def link_box(page: PageContext, state: State | None = None) -> None:
    """Draws the address of this page in a state, by default in its own, and says what whoever gets it cannot do with
    it."""
    words, link = strings("frame"), page.link(state)
    st.code(link, language=None, wrap_lines=True)
    if not opens_elsewhere(link):
        st.caption(words["link_here"])
    if page.about.asks and left_out(state or page.state, page.name, page.about.controls):
        st.caption(words["too_long"])
