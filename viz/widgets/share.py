"""Sharing a page: its link, a variant for a class, and a QR code for either."""
from dataclasses import replace

import segno
import streamlit as st

from clearhead.viz.app.link import left_out
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.page_controls import Control, Numbers
from clearhead.viz.app.session import Kept
from clearhead.viz.app.state import State
from clearhead.viz.export.provenance import opens_elsewhere, opens_here_alone
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import bind
from clearhead.viz.widgets.layout import split

WORDS = strings("share")

FINEST = 20   # QR version (97 modules wide) that a camera at the back of a room can still read
_WHOSE = Kept("view")   # the kind of link last chosen


def share_button(page: PageContext) -> None:
    """Draw the button that opens the *Share* dialog."""

    @st.fragment
    def button() -> None:
        if st.button(WORDS["share"], key="share", type="tertiary", icon=":material/qr_code_2:"):
            st.dialog(WORDS("title", page=page.about.title), width="large")(_share)(page)

    button()


def _share(page: PageContext) -> None:
    """Draw the dialog: the link, what it shows, its limits, and its QR code."""
    whose = _WHOSE.value if asks(page) else "view"
    left, right = split(4, 5, gap="large")
    with left:
        if asks(page):
            st.radio(WORDS["who"], list(WORDS["whose"]), format_func=WORDS["whose"].get,
                     **bind(_WHOSE.put, "value", whose, "share-whose"))
            st.caption(WORDS["about"][whose])
        state = page.state if whose == "view" else for_class(page, whose == "show")
        link = page.link(state)
        st.code(link, language=None, wrap_lines=True)
        if opens_here_alone(link):
            st.warning(WORDS["alone"])
        elif not opens_elsewhere(link):
            st.caption(WORDS["network"])
        if page.about.asks and left_out(state, page.name, page.about.controls):
            st.caption(strings("frame")["too_long"])
    with right, st.container(key="share-code"):
        drawing = qr_code(link)
        if drawing is None:
            st.info(WORDS["dense"])
        else:
            st.image(drawing, width="stretch", alt=WORDS["code"])


def qr_code(link: str) -> str | None:
    """Return the link's QR code as SVG, black on white in any theme; None if it would be too fine to scan."""
    try:
        code = segno.make_qr(link, error="l")
    except segno.DataOverflowError:
        return None
    return code.svg_inline(omitsize=True, border=4, light="#fff") if int(code.version) <= FINEST else None


def is_answer(control: Control) -> bool:
    """Return whether a control stores a reader's answer: a letter, a drawn curve, marked cells."""
    return (control.name.startswith(("guess", "check_")) or control.name == "marks"
            or (control.name == "drawn" and isinstance(control, Numbers)))


def asks(page: PageContext) -> bool:
    """Return whether the page currently has questions: lessons always, Heads while a head is to be predicted."""
    return any(is_answer(control) for control in page.about.controls) and page.controls.get("predict") != ""


def for_class(page: PageContext, show: bool) -> State:
    """Return the state without answers, not presented. show: reveal every answer, else cover them; a
    predicted head is revealed or covered accordingly."""
    answers: dict[str, str | None] = {control.name: None for control in page.about.controls if is_answer(control)}
    if "predict" in page.controls:
        answers |= {"predict": None if show else "cover"}
    return replace(page.state.with_control_values(page.name, **answers), present=False, screen="", show=show)
