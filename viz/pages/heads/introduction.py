"""The introduction for new users above the heads: a sentence and four options. It disappears once one is chosen."""
from collections.abc import Callable

import streamlit as st

from model.ask import sources
from viz.components.component import registered
from viz.page import PageContext
from viz.session import Kept
from viz.text import strings

COOKIE = "clearhead_known"   # marks a browser that has visited before
_SHOWN = Kept[bool | None](None)


def introduce(page: PageContext) -> None:
    """Draw the introduction on a browser's first visit, unless it opened a link with a view."""
    if _SHOWN.value is None:
        _SHOWN.value = not st.query_params and st.context.cookies.get(COOKIE) != "1"
    if not _SHOWN.value or page.state.present:
        return
    words = strings("introduction")
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="introduction"):
        st.markdown(words["sentence"], width="content")
        _typed(words["sentence_way"], 300, lambda text: page.set(text=text, text_b=None))
        for way, name in (("learn", "lessons"), ("teach", "handout")):
            st.button(words[way], key=f"way-{way}", on_click=_take, args=(page.open_next, name))
        if not sources.catalogue_only():
            _typed(words["model_way"], 600, lambda model: page.set(model=model))
        st.button("", key="way-close", icon=":material/close:", type="tertiary", help=words["close"], on_click=_take,
                  args=(int,))
    registered("cookie", "js/cookie.js", "module.cookie")(key="known", data=[COOKIE, "1"])


def _typed(words: dict, longest: int, act: Callable[[str], None]) -> None:
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
