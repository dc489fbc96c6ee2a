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

MakeItem = Callable[[str, str], Item]   # make(where, link): the item of a picture or a table

COOKIE = "clearhead_handout"
BETWEEN = " · "   # the parts of where a figure stands: the page's title, the model, the text
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
    """(where, link): where a figure stands, in words, and the address of exactly this state; both empty on a page
    without the frame."""
    state: State | None = st.session_state.get("state")
    if state is None or "page" not in st.session_state:
        return "", ""
    name = st.session_state["page"]
    page = pages()[name][0]
    asked = [state.model, f"“{state.text}”"] if page.needs == "record" else []
    return BETWEEN.join([page.title, *asked]), address(st.context.url or "", state, name, page.controls)


def add_to_handout(key: str, make: MakeItem, sign: bool = False) -> None:
    """Draws the button, or only its sign. make(where, link) gives the item; it is called when the button is pressed,
    and a fragment answers: the page does not run."""
    with st.container(width="content"):
        _button(key, make, sign)


@st.fragment
def _button(key: str, make: MakeItem, sign: bool) -> None:
    words = strings("handout")
    st.button("" if sign else words["add"], key=f"keep-{key}", type="tertiary", icon=":material/playlist_add:",
              on_click=add_item, args=(key, make), help=words["add"] if sign else None)
    show_result(key)


def add_item(key: str, make: MakeItem) -> None:
    """For a callback: puts the item into the handout; what came of it waits for `show_result`."""
    try:
        item = make(*page_and_link())
        count = len(update(lambda known: replace(known, items=(*known.items, item))).items)
        st.session_state[f"kept-{key}"] = strings("handout")["added"].format(count=count)
    except UserError as error:
        st.session_state[f"kept-{key}"] = escape_markdown(str(error))


def show_result(key: str) -> None:
    """Says once what came of `add_item`."""
    if f"kept-{key}" in st.session_state:
        st.toast(st.session_state.pop(f"kept-{key}"))
        set_cookie()


def picture_button(picture: Picture, records: tuple[AttentionRecord, ...] = (),
                   beside: Callable[[], Any] | None = None) -> None:
    """Draws the button under a component's picture. records: those that the picture shows. beside: draws what stands at
    the button's left."""
    _button_row(picture.key, item_maker(picture, records), beside)


def item_maker(picture: Picture, records: tuple[AttentionRecord, ...] = ()) -> MakeItem:
    """What makes a picture's item, for `add_to_handout`. An item with records says by itself what was asked, so that of
    `where` only the page's title is left."""
    def make(where: str, link: str) -> Item:
        from viz.handout.build import picture_item

        title = where.split(BETWEEN)[0] if records else where
        return picture_item(picture.component, picture.body, picture.state, records=records, view=picture.view,
                            where=title, link=link)
    return make


def table_button(key: str, rows: Sequence[Mapping[str, Any]], alt: str, titles: Mapping[str, str] | None = None,
                 beside: Callable[[], Any] | None = None) -> None:
    """Draws the button under a table, whose rows are {column: cell}. titles: {column: words}, where a column is not
    named by its key. beside: as of `picture_button`."""
    def make(where: str, link: str) -> Item:
        from viz.handout.build import table_item

        named = [{(titles or {}).get(column, column): cell for column, cell in row.items()} for row in rows]
        return table_item(named, alt, where=where, link=link)

    _button_row(key, make, beside)


def _button_row(key: str, make: MakeItem, beside: Callable[[], Any] | None) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute" if beside else "right",
                      vertical_alignment="center"):
        if beside:
            beside()
        add_to_handout(key, make)
