"""When and where a shipped answer was measured, and the offer to measure it on this machine."""
from collections.abc import Callable

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.ask.shipped import COMMAND
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.layout import flex_row


def is_shipped(question: object) -> bool:
    """Return whether the answer for this exact model is shipped, so that it needs no computing."""
    return desk.measured_before(question) is not None and not desk.measured_here(question)


def measured_line(question: object, key: str, name: str, again: Callable[[], None] | None = None) -> None:
    """Draw a shipped answer's date and machine, and a button that measures it on this machine. name: the answer's set
    in its benchmark. again: called on click."""
    known = desk.shipped(question)
    if known is None or not is_shipped(question):
        return
    words = strings("frame")["measured"]

    def measure() -> None:
        desk.measure_again(question)
        if again is not None:
            again()

    with flex_row("center", gap="small"):
        st.caption(words("line", day=known.measured, seconds=known.seconds),
                   help=words("help", machine=known.machine, command=COMMAND, name=name), width="content")
        st.button(words["again"], key=f"measure-{key}", type="tertiary", on_click=measure)
