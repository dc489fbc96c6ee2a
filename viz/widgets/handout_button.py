"""“Add to handout”: the button under every picture and table, and the session's handout.

A handout survives a reload because the server keeps it (viz/handout/store.py) under a random name that the browser
holds in a cookie; the address bar holds nothing of it, so that a link that one sends away shows the state and not the
sender's handout. """
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.core.record import AttentionRecord
from viz.components.bundle import script
from viz.components.component import Picture
from viz.handout.files import Handout
from viz.handout.item import Item
from viz.handout.store import HandoutStore
from viz.link import address
from viz.page import pages
from viz.state import State
from viz.text import escape_markdown, strings

COOKIE = "clearhead_handout"
STORE = HandoutStore(folder=sources.handout_folder)
_CODE = st.components.v2.component("clearhead_cookie", js=script("js/cookie.js"))


def _name() -> str:
    """Under which name this session's handout is kept."""
    return st.session_state.setdefault("handout", STORE.name(st.context.cookies.get(COOKIE)))


def handout() -> Handout:
    """The session's handout as it is now."""
    return STORE.get(_name())


def update(how: Callable[[Handout], Handout]) -> Handout:
    """Puts how(handout) in its place. Raises UserError where that cannot be kept."""
    return STORE.change(_name(), how)


def set_cookie() -> None:
    """Gives the browser the name, once there is something to find again."""
    if st.context.cookies.get(COOKIE) != _name() and handout() != Handout():
        _CODE(key="handout-name", data=[COOKIE, _name()])


def page_and_link() -> tuple[str, str]:
    """Where a figure stands, in words, and the address of exactly this state; nothing on a page without a frame."""
    state: State | None = st.session_state.get("state")
    if state is None or "page" not in st.session_state:
        return "", ""
    name = st.session_state["page"]
    page = pages()[name][0]
    asked = [state.model, f"“{state.text}”"] if page.needs == "record" else []
    return " · ".join([page.title, *asked]), address(st.context.url or "", state, name, page.controls)


def add_to_handout(key: str, make: Callable[[str, str], Item], sign: bool = False) -> None:
    """The button, or only its sign. make(where, link) gives the item; it is called when the button is pressed, and a
    fragment answers: the page does not run."""
    with st.container(width="content"):
        _button(key, make, sign)


@st.fragment
def _button(key: str, make: Callable[[str, str], Item], sign: bool) -> None:
    words = strings("handout")
    st.button("" if sign else words["add"], key=f"keep-{key}", type="tertiary", icon=":material/playlist_add:",
              on_click=add_item, args=(key, make), help=words["add"] if sign else None)
    show_result(key)


def add_item(key: str, make: Callable[[str, str], Item]) -> None:
    """For a callback: puts the item into the handout; what came of it waits for `tell`."""
    try:
        item = make(*page_and_link())
        count = len(update(lambda known: replace(known, items=(*known.items, item))).items)
        st.session_state[f"kept-{key}"] = strings("handout")["added"].format(count=count)
    except UserError as error:
        st.session_state[f"kept-{key}"] = escape_markdown(str(error))


def show_result(key: str) -> None:
    """What came of `keep`, once."""
    if f"kept-{key}" in st.session_state:
        st.toast(st.session_state.pop(f"kept-{key}"))
        set_cookie()


def picture_button(picture: Picture, records: tuple[AttentionRecord, ...] = (),
                   beside: Callable[[], Any] | None = None) -> None:
    """The button under what a component drew. records: those that it shows. beside: draws what stands at the button's
    left."""
    _row(picture.key, picture_maker(picture, records), beside)


def picture_maker(picture: Picture, records: tuple[AttentionRecord, ...] = ()) -> Callable[[str, str], Item]:
    """What makes the item of a picture, for `add_to_handout`."""
    def make(where: str, link: str) -> Item:
        from viz.handout.build import picture_item

        return picture_item(picture.component, picture.body, picture.state, records=records, view=picture.view,
                            where=where.split(" · ")[0] if records else where, link=link)
    return make


def _row(key: str, make: Callable[[str, str], Item], beside: Callable[[], Any] | None) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute" if beside else "right",
                      vertical_alignment="center"):
        if beside:
            beside()
        add_to_handout(key, make)


def table_button(key: str, rows: Sequence[Mapping[str, Any]], alt: str, titles: Mapping[str, str] | None = None,
                 beside: Callable[[], Any] | None = None) -> None:
    """The button under a table of rows by column. titles: how its columns are named, where that is not their key.
    beside: as of keep_picture."""
    def make(where: str, link: str) -> Item:
        from viz.handout.build import table_item

        return table_item([{(titles or {}).get(name, name): cell for name, cell in row.items()} for row in rows], alt,
                          where=where, link=link)

    _row(key, make, beside)
