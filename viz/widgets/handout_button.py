"""“Add to handout”: the button under every figure, and the session's handout.

A handout survives a reload because the server keeps it (viz/handout/store.py) under a random name that the browser holds in a cookie; the address
bar holds nothing of it, so that a link that one sends away shows the state and not the sender's handout.
"""
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz.components.bundle import script
from viz.handout.files import Handout
from viz.handout.item import Item
from viz.handout.store import Keeping
from viz.link import address
from viz.page import pages
from viz.state import State
from viz.text import literal, strings

COOKIE = "clearhead_handout"
KEEPING = Keeping(folder=sources.handouts)
_CODE = st.components.v2.component("clearhead_cookie", js=script("js/cookie.js"))


def _name() -> str:
    """Under which name this session's handout is kept."""
    return st.session_state.setdefault("handout", KEEPING.name(st.context.cookies.get(COOKIE)))


def handout() -> Handout:
    """The session's handout as it is now."""
    return KEEPING.get(_name())


def change(how: Callable[[Handout], Handout]) -> Handout:
    """Puts how(handout) in its place. Raises UserError where that cannot be kept."""
    return KEEPING.change(_name(), how)


def remember() -> None:
    """Gives the browser the name, once there is something to find again."""
    if st.context.cookies.get(COOKIE) != _name() and handout() != Handout():
        _CODE(key="handout-name", data=[COOKIE, _name()])


def here() -> tuple[str, str]:
    """Where a figure stands, in words, and the address of exactly this state; nothing on a page without a frame."""
    state: State | None = st.session_state.get("state")
    if state is None or "page" not in st.session_state:
        return "", ""
    name = st.session_state["page"]
    page = pages()[name][0]
    asked = [state.model, f"“{state.text}”"] if page.needs == "record" else []
    return " · ".join([page.title, *asked]), address(st.context.url or "", state, name, page.controls)


def add_to_handout(key: str, make: Callable[[str, str], Item], sign: bool = False) -> None:
    """The button, or only its sign. make(where, link) gives the item; it is called when the button is pressed, and a fragment answers: the page
    does not run."""
    with st.container(width="content"):
        _button(key, make, sign)


@st.fragment
def _button(key: str, make: Callable[[str, str], Item], sign: bool) -> None:
    words = strings("handout")
    st.button("" if sign else words["add"], key=f"keep-{key}", type="tertiary", icon=":material/playlist_add:", on_click=keep, args=(key, make),
              help=words["add"] if sign else None)
    tell(key)


def keep(key: str, make: Callable[[str, str], Item]) -> None:
    """For a callback: puts the item into the handout; what came of it waits for `tell`."""
    try:
        item = make(*here())
        count = len(change(lambda known: replace(known, items=(*known.items, item))).items)
        st.session_state[f"kept-{key}"] = strings("handout")["added"].format(count=count)
    except UserError as error:
        st.session_state[f"kept-{key}"] = literal(str(error))


def tell(key: str) -> None:
    """What came of `keep`, once."""
    if f"kept-{key}" in st.session_state:
        st.toast(st.session_state.pop(f"kept-{key}"))
        remember()


def keep_picture(kind: str, key: str, messages: tuple[bytes, bytes], records: tuple[AttentionRecord, ...] = (), view: View | None = None,
                 beside: Callable[[], Any] | None = None) -> None:
    """The button under a component, whose item is the two messages that it was sent. beside: draws what stands at its left."""
    _row(key, _maker(kind, messages, records, view), beside)


def _row(key: str, make: Callable[[str, str], Item], beside: Callable[[], Any] | None) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute" if beside else "right", vertical_alignment="center"):
        if beside:
            beside()
        add_to_handout(key, make)


@contextmanager
def keep_beside(kind: str, key: str, messages: tuple[bytes, bytes]) -> Iterator[None]:
    """The same for a component that is a line of the page: drawn inside the block, the sign at its end."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            yield
        add_to_handout(key, _maker(kind, messages), sign=True)


def _maker(kind: str, messages: tuple[bytes, bytes], records: tuple[AttentionRecord, ...] = (),
           view: View | None = None) -> Callable[[str, str], Item]:
    def make(where: str, link: str) -> Item:
        from viz.handout.build import picture_item

        return picture_item(kind, *messages, records=records, view=view, where=where.split(" · ")[0] if records else where, link=link)
    return make


def keep_table(key: str, rows: Sequence[Mapping[str, Any]], alt: str, titles: Mapping[str, str] | None = None,
               beside: Callable[[], Any] | None = None) -> None:
    """The button under a table of rows by column. titles: how its columns are named, where that is not their key. beside: as of keep_picture."""
    def make(where: str, link: str) -> Item:
        from viz.handout.build import table_item

        return table_item([{(titles or {}).get(name, name): cell for name, cell in row.items()} for row in rows], alt, where=where, link=link)

    _row(key, make, beside)
