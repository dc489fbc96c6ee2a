"""Texts that an address is too short for: the browser's tab holds them through a reload, and a link that is opened
elsewhere says that they are not in it."""
from dataclasses import replace
from typing import Any

import streamlit as st

from model.core.query import UserError
from viz.components.component import component_value
from viz.components.files import module_code
from viz.link import left_out
from viz.packed_text import short_name
from viz.page import PageContext
from viz.session import session
from viz.text import strings

KEY = "stored-texts"
_CODE = st.components.v2.component("clearhead_texts", js=module_code("js/texts.js", "module.texts", otherwise=""))


def _take() -> None:
    """Puts the texts that the browser has in their places. The name of a text is its digest, so that nothing else can
    come in its place."""
    now, answer = session(), component_value(KEY)
    texts = answer.values() if isinstance(answer, dict) else ()
    by_name = {short_name(text): text for text in texts if isinstance(text, str)}
    here: dict[str, Any] = {field: by_name[name] for field, name in now.state.absent.items() if name in by_name}
    now.state = replace(now.state, **here)
    now.texts_asked = True


def store_texts(page: PageContext) -> None:
    """Gives the browser what the address leaves out, and asks it once for what the address names."""
    held = left_out(page.state, page.name, page.about.controls)
    wanted = [] if session().texts_asked else sorted(filter(None, page.state.absent.values()))
    if held or wanted:
        _CODE(key=KEY, data={"held": held, "wanted": wanted}, on_event_change=_take)


def awaits_texts(page: PageContext) -> bool:
    """Whether the browser has not yet said which of the absent texts it has."""
    return not session().texts_asked and any(page.state.absent.values())


def require_texts(page: PageContext) -> None:
    """Raises UserError where a text is absent, with the button that goes on without it."""
    words, absent = strings("frame"), page.state.absent
    if not absent:
        return
    if awaits_texts(page):
        raise UserError(words["absent_asked"])
    st.button(words["absent_go_on"], key="absent-go-on", on_click=_go_on)
    which = " and ".join(words["absent_fields"][field] for field in absent)
    raise UserError(words["absent" if all(absent.values()) else "absent_damaged"].format(texts=which))


def _go_on() -> None:
    session().state = replace(session().state, absent_texts=frozenset())
