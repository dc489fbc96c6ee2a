"""Texts that an address is too short for: the browser's tab holds them through a reload, and a link that is opened
elsewhere says that they are not in it."""
from typing import Any

import streamlit as st

from model.core.query import UserError
from viz.components.component import component_value
from viz.components.files import module_code
from viz.link import left_out
from viz.packed_text import short_name
from viz.page import PageContext
from viz.session import Kept
from viz.text import strings

KEY = "stored-texts"
_ASKED = Kept(False)   # whether the browser said which texts of the link it has
_CODE = st.components.v2.component("clearhead_texts", js=module_code("js/texts.js", "module.texts", otherwise=""))


def _take(page: PageContext) -> None:
    """Puts the texts that the browser has in their places. The name of a text is its digest, so that nothing else can
    come in its place."""
    answer = component_value(KEY)
    texts = answer.values() if isinstance(answer, dict) else ()
    by_name = {short_name(text): text for text in texts if isinstance(text, str)}
    here: dict[str, Any] = {field: by_name[name] for field, name in page.state.absent.items() if name in by_name}
    page.correct(**here)
    _ASKED.value = True


def store_texts(page: PageContext) -> None:
    """Gives the browser what the address leaves out, and asks it once for what the address names."""
    held = left_out(page.state, page.name, page.about.controls)
    wanted = [] if _ASKED.value else sorted(filter(None, page.state.absent.values()))
    if held or wanted:
        _CODE(key=KEY, data={"held": held, "wanted": wanted}, on_event_change=lambda: _take(page))


def awaits_texts(page: PageContext) -> bool:
    """Whether the browser has not yet said which of the absent texts it has."""
    return not _ASKED.value and any(page.state.absent.values())


def require_texts(page: PageContext) -> None:
    """Raises UserError where a text is absent, with the button that goes on without it."""
    words, absent = strings("frame"), page.state.absent
    if not absent:
        return
    if awaits_texts(page):
        raise UserError(words["absent_asked"])
    st.button(words["absent_go_on"], key="absent-go-on", on_click=page.correct, kwargs={"absent_texts": frozenset()})
    which = " and ".join(words["absent_fields"][field] for field in absent)
    raise UserError(words["absent" if all(absent.values()) else "absent_damaged"].format(texts=which))
