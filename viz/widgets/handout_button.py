"""What a page offers to add to My lesson, in its menu *Add*, and the session's handout.

The server stores the handout (viz/export/handout/store.py) under a random name kept in a browser cookie, so that it
survives a reload. The name is not in the URL, so a shared link shows the state but not the sender's handout.
"""
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.query import UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.page import PageContext, pages
from clearhead.viz.app.session import Kept, session
from clearhead.viz.components.component import component_value, registered
from clearhead.viz.components.picture import Grid, Head, Image
from clearhead.viz.export.handout.files import Handout, Item
from clearhead.viz.export.handout.store import HandoutStore, Stored
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.layout import close_menu

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = strings("handout")

MakeItem = Callable[[str, str], Item]   # make(where, link) returns the item for a picture or table

NAME = Kept("")     # the name under which the server stores the handout
_TOAST = Kept("")   # the result of adding to the handout, shown once
COOKIE = "clearhead_handout"
BETWEEN = " · "   # separates the parts of a figure's origin: page title, model, text
# {key: (label, make)}: the figures that the page's menu *Add* offers
OFFERED = Kept[dict[str, tuple[str, MakeItem]]]({})
LONGEST_LABEL = 60   # most characters of a label in the menu
TABLE_HEIGHT = 460   # most pixels of a table; a longer one scrolls
STORE = HandoutStore(folder=desk.handout_folder)


def _name() -> str:
    """Return this session's handout name, under which the server stores it."""
    NAME.value = NAME.value or STORE.name(st.context.cookies.get(COOKIE))
    return NAME.value


def handout() -> Handout:
    """Return the session's current handout."""
    return STORE.get(_name())


def stored() -> Stored:
    """Return the session's handout and whether its file is up to date."""
    return STORE.stored(_name())


def update(how: Callable[[Handout], Handout]) -> Handout:
    """Replace the handout with how(handout). Raises UserError if it cannot be stored."""
    return STORE.change(_name(), how)


def undo() -> None:
    """Bring back the handout before its last change, in a callback."""
    STORE.undo(_name())


def share_name() -> None:
    """Store the handout's name in the browser's cookie, or adopt the name that another tab has stored meanwhile. The
    frame calls it on every page, so that all tabs have one handout from the start."""
    # not read in a callback, which Streamlit does not call if the answer comes during a session's first run
    name = STORE.name(component_value("handout-name") or _name())
    if name != _name() and (added := handout().items):   # before this tab adopted the name
        STORE.change(name, lambda known: replace(known, items=(*known.items, *added)))
    NAME.value = name
    if st.context.cookies.get(COOKIE) != _name():
        registered("cookie", "js/cookie.js", "module.cookie")(key="handout-name", data=[COOKIE, _name()],
                                                            on_event_change=lambda: None)


def page_and_link() -> tuple[str, str]:
    """Return a figure's origin in words and the URL of exactly this state; both are "" on a page without the frame."""
    name = session().page
    if not name:
        return "", ""
    page = PageContext(name, pages()[name][0], {})
    asked = [page.model, f"“{page.text}”"] if page.about.needs == "record" else []
    where = BETWEEN.join([page.about.title, *asked] if page.about.asks_with(page.controls) else [page.about.title])
    return where, page.link(page.with_open_head() if name == "heads" else page.state)


def offer(key: str, label: str, make: MakeItem) -> None:
    """Offer a figure or table in the page's menu *Add*. key: names it on the page. make(where, link) creates the item
    when it is added."""
    label = label.partition(". ")[0].rstrip(".")
    label = label if len(label) <= LONGEST_LABEL else label[:LONGEST_LABEL - 1].rstrip() + "…"
    OFFERED.value = OFFERED.value | {key: (escape_markdown(label), make)}


def add_item(make: MakeItem) -> None:
    """Add the item to the handout in a callback; `show_result` shows the outcome."""
    close_menu("to-list")
    try:
        item = make(*page_and_link())
        count = len(update(lambda known: replace(known, items=(*known.items, item))).items)
        unsaved = stored().unsaved
        _TOAST.value = (WORDS("added", count=count)
                        + (" " + escape_markdown(WORDS("unsaved", reason=unsaved)) if unsaved else ""))
    except UserError as error:
        _TOAST.value = escape_markdown(error)


def add_offered(key: str, make: MakeItem) -> None:
    """Add a figure of the menu *Add*, in a callback, as the page drew it last. make: as the menu was drawn, for a click
    while the page is being drawn again."""
    add_item(OFFERED.value.get(key, ("", make))[1])


def show_result() -> None:
    """Show the outcome of `add_item` once."""
    if _TOAST.value:
        st.toast(_TOAST.value)
        _TOAST.value = ""


def offer_picture(key: str, value: Head | Grid | Image, records: tuple[AttentionRecord, ...],
                  view: View | None = None, label: str = "") -> None:
    """Offer a picture in the menu *Add*. The item states the question itself, so only the page's title is kept from
    `where`. key: of its component. records: the records shown in the picture. view: the view shown. label: in the menu,
    by default the caption."""
    def make(where: str, link: str) -> Item:
        from clearhead.viz.export.handout.build import picture_item

        return picture_item(value, records, view, where=where.split(BETWEEN)[0], link=link)

    offer(key, label or value.caption(), make)


def offer_table(key: str, table: "DataFrame", alt: str) -> None:
    """Offer a table, whose index is omitted, in the menu *Add*."""
    def make(where: str, link: str) -> Item:
        from clearhead.viz.export.handout.build import table_item

        return table_item(table, alt, where=where, link=link)

    offer(key, alt, make)


def data_table(table: "DataFrame", alt: str, titles: Mapping[str, str], *, key: str, formats: Mapping[str, str] = {},
               **options: Any) -> None:
    """Draw a table without its index, and offer it. titles: {column: title}, in order; missing columns are skipped.
    formats: {column of numbers: format}. options: for st.dataframe."""
    table = table[[name for name in titles if name in table]].rename(columns=titles)
    table = table.loc[:, ~table.columns.duplicated()]   # two columns may have the same title
    config = {titles[name]: st.column_config.NumberColumn(format=wanted) for name, wanted in formats.items()}
    st.dataframe(table, hide_index=True, key=key, height=min(38 + 35 * len(table), TABLE_HEIGHT), column_config=config,
                 **options)
    offer_table(key, table, alt)
