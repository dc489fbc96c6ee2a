"""The menus in the top right corner of every page: presenting with its keys, and adding to My lesson."""
import streamlit as st

from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.components.component import registered
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import bind
from clearhead.viz.widgets.my_lesson import HOME, add_screens, present

WORDS = strings("present")

COOKIE, OFF = "clearhead_shortcuts", "off"
_SHORTCUTS = Kept("")   # the reader's setting in this session; "" for the browser's stored one


def shortcuts() -> bool:
    """Return whether single letters and digits work as shortcuts (WCAG 2.1.4 requires a way to turn them off)."""
    return (_SHORTCUTS.value or st.context.cookies.get(COOKIE)) != OFF


def page_bar(page: PageContext) -> None:
    """Draw the menus in the row of the page's title."""
    with st.popover(WORDS["present"], type="tertiary", key="present-menu", icon=":material/slideshow:",
                    on_change="rerun") as opened:
        if opened.open:
            st.button(WORDS["start"], key="present", type="primary", on_click=present, args=(page, True))
            st.caption(WORDS["present_help"])
            _keys()
    if page.name != HOME:
        with st.popover(strings("handout")["to_list"], type="tertiary", key="to-list", icon=":material/playlist_add:",
                        on_change="rerun") as opened:
            if opened.open:
                add_screens(page)


def _keys() -> None:
    st.markdown("  \n".join(f"{key}: {does}" for key, does in WORDS["named"].items()))
    st.toggle(WORDS["shortcuts"], help=WORDS["shortcuts_help"], **bind(
        lambda shortcuts: _SHORTCUTS.put("on" if shortcuts else OFF), "shortcuts", shortcuts(), "shortcuts"))
    if _SHORTCUTS.value:
        registered("cookie", "js/cookie.js", "module.cookie")(key="shortcuts-kept", data=[COOKIE, _SHORTCUTS.value])
