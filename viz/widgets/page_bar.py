"""The row of a page's title, with the menus *Present*, *Add* and *Share*, and the keys of a presentation.

Presenting is large type for an audience. P toggles it on every page; present=1 in the URL turns it on. A page becomes a
sequence of screens for arrow keys and clickers (viz/components/js/screens.js). A lesson has several screens, including
its controls; any other page is one picture. When a list is presented (viz/widgets/my_lesson.py), the step after an
entry's last screen opens the next entry.
"""
import re
from dataclasses import replace
from typing import Any

import segno
import streamlit as st

from clearhead.viz.app.link import SCREEN, left_out
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.page_controls import ANSWER
from clearhead.viz.app.session import Kept
from clearhead.viz.app.state import State
from clearhead.viz.app.streamlit_patch import went_back
from clearhead.viz.components.component import component_value, registered
from clearhead.viz.export.provenance import opens_elsewhere, opens_here_alone
from clearhead.viz.style.text import strings
from clearhead.viz.style.theme import STYLES
from clearhead.viz.widgets.fields import bind
from clearhead.viz.widgets.handout_button import show_result
from clearhead.viz.widgets.layout import menu, split
from clearhead.viz.widgets.my_lesson import HOME, add_screens, beside, passing, place_of, planned, present, step

WORDS, SHARE = strings("present"), strings("share")

COOKIE, OFF = "clearhead_shortcuts", "off"
# the texts of a lesson's screen in order, by the first word of their containers' keys
ORDER = ["predict", "lead", "notices", "about"]
# keeps the keys that are pressed before js/presentation.js is loaded, which takes seconds on a busy machine
EARLY = """if (!globalThis.clearheadEarly) {
  const early = globalThis.clearheadEarly = [], typed = "input, textarea, [contenteditable=true]";
  addEventListener("keydown", (event) => globalThis.clearheadKeys || event.target.closest(typed) || early.push(event));
}
"""
_SHORTCUTS = Kept("")   # the reader's setting in this session; "" for the browser's stored one
FINEST = 20   # QR version (97 modules wide) that a camera at the back of a room can still read
_WHOSE = Kept("")   # the kind of link last chosen


def shortcuts() -> bool:
    """Return whether single letters and digits work as shortcuts (WCAG 2.1.4 requires a way to turn them off)."""
    return (_SHORTCUTS.value or st.context.cookies.get(COOKIE)) != OFF


def page_bar(page: PageContext) -> None:
    """Draw the menus in the row of the page's title; none for a class."""
    if page.state.guest:
        return
    with st.popover(WORDS["present"], type="tertiary", key="present-menu", icon=":material/slideshow:",
                    on_change="rerun") as opened:
        if opened.open:
            st.button(WORDS["start"], key="present", type="primary", on_click=present, args=(page, True))
            st.caption(WORDS["present_help"])
            _keys()
    if page.name != HOME:
        with menu(strings("handout")["to_list"], "to-list", type="tertiary", icon=":material/playlist_add:") as opened:
            if opened.open:
                add_screens(page)
        show_result()
    share_button(page)


def _keys() -> None:
    st.markdown("  \n".join(f"{key}: {does}" for key, does in WORDS["named"].items()))
    st.toggle(WORDS["shortcuts"], help=WORDS["shortcuts_help"], **bind(
        lambda shortcuts: _SHORTCUTS.put("on" if shortcuts else OFF), "shortcuts", shortcuts(), "shortcuts"))
    if _SHORTCUTS.value:
        registered("cookie", "js/cookie.js", "module.cookie")(key="shortcuts-kept", data=[COOKIE, _SHORTCUTS.value])


def share_button(page: PageContext) -> None:
    """Draw the button that opens the *Share* dialog."""

    @st.fragment
    def button() -> None:
        if st.button(SHARE["share"], key="share", type="tertiary", icon=":material/qr_code_2:"):
            st.dialog(SHARE("title", page=page.about.title), width="large")(_share)(page)

    button()


def _share(page: PageContext) -> None:
    """Draw the dialog: the link, what it shows, its limits, and its QR code."""
    offered = list(SHARE["whose"])[:3 if asks(page) else 2]
    whose = _WHOSE.value if _WHOSE.value in offered else "ask" if asks(page) else "view"
    left, right = split(4, 5, gap="large")
    with left:
        st.radio(SHARE["who"], offered, format_func=SHARE["whose"].get,
                 **bind(_WHOSE.put, "value", whose, "share-whose", ""))
        st.caption(SHARE["about"][whose])
        link = page.link() if whose == "view" else page.link(for_class(page, whose == "show"), named=False)
        st.code(link, language=None, wrap_lines=True)
        alone = opens_here_alone(link)
        st.caption(SHARE["alone" if alone else "elsewhere" if opens_elsewhere(link) else "network"])
        if page.about.asks and left_out(page.state, page.name, page.about.controls):
            st.caption(strings("frame")["too_long"])
    with right, st.container(key="share-code"):
        drawing = qr_code(link)
        if alone:   # no phone could open it
            return
        if drawing is None:
            st.info(SHARE["dense"])
        else:
            st.image(drawing, width="stretch", alt=SHARE["code"])


def qr_code(link: str) -> str | None:
    """Return the link's QR code as SVG, black on white in any theme; None if it would be too fine to scan."""
    try:
        code = segno.make_qr(link, error="l")
    except segno.DataOverflowError:
        return None
    return code.svg_inline(omitsize=True, border=4, light="#fff") if int(code.version) <= FINEST else None


def asks(page: PageContext) -> bool:
    """Return whether the page currently has questions: lessons always, Heads while a head is to be predicted."""
    return any(map(ANSWER.fullmatch, page.controls)) and page.controls.get("predict") != ""


def for_class(page: PageContext, show: bool) -> State:
    """Return the state without answers, not presented, and without the teacher's tools. show: reveal every answer, else
    cover them; a predicted head is revealed or covered accordingly."""
    answers: dict[str, str | None] = dict.fromkeys(filter(ANSWER.fullmatch, page.controls))
    if page.controls.get("predict"):
        answers |= {"predict": None if show else "cover"}
    state = page.state.with_control_values(page.name, **answers)
    return replace(state, present=False, screen="", entry=0, show=show, guest=True)


def prepare(lesson: bool) -> None:
    """Set the enlarged layout before anything is drawn: a lesson as screens with its controls, any other page as its
    picture alone."""
    st.html(STYLES / "present.css")
    if not lesson:
        st.html(STYLES / "present_picture.css")


def listen_for_keys(page: PageContext, lesson: bool) -> None:
    """Listen for keys. Call it before the page is drawn, which may take a while. lesson: whether the page has several
    screens. This is a fragment, so changing the screen does not rerun the page."""
    turned = False

    def hand_on() -> None:
        nonlocal turned
        event = parse_event(component_value("presentation"))
        if event is None:
            return
        kind, said = event
        turned = kind != "screen"
        if kind == "screen":
            page.set(screen=said)
        else:
            (present if kind == "on" else step)(page, said)

    @st.fragment
    def listen() -> None:
        if turned:
            st.rerun()
        state, (place, only) = page.state, place_of(page)
        words = {"id": f"{page.name} {only} {place}", "title": page.about.title, "screen": state.screen,
                 "lesson": ORDER if lesson else [], "only": only, "place": place, "planned": planned(page),
                 "back": went_back(), "beside": beside(page), "passing": passing(page),
                 "text": WORDS} if state.present else {}
        # data must be in a list, like the slider's message
        keys = registered("keys", "js/presentation.js", "module.keys", isolate_styles=False, before=EARLY)
        letters = shortcuts() and not state.guest
        keys(key="presentation", data=[{"on": state.present, "letters": letters} | words], on_event_change=hand_on)

    listen()


def parse_event(value: object) -> tuple[str, Any] | None:
    """Parse a browser event: {"on": true or false}, {"step": 1 or -1} or {"screen": name}. Return None if it is
    invalid."""
    if value in ({"on": True}, {"on": False}) and isinstance(value["on"], bool):
        return "on", value["on"]
    if value in ({"step": 1}, {"step": -1}) and type(value["step"]) is int:
        return "step", value["step"]
    if isinstance(value, dict) and set(value) == {"screen"} and isinstance(value["screen"], str):
        return ("screen", value["screen"]) if re.fullmatch(SCREEN, value["screen"], re.ASCII) else None
    return None
