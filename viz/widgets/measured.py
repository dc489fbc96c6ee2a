"""Show when and where a shipped answer was measured, and offer to measure it here."""
from collections.abc import Callable

import streamlit as st

from model.ask import sources
from model.ask.shipped import COMMAND
from viz.text import strings


def is_shipped(question: object) -> bool:
    """Return whether the answer for this exact model is shipped, so that there is nothing to wait for."""
    return sources.measured_before(question) is not None and not sources.measured_here(question)


def measured_line(question: object, key: str, name: str, again: Callable[[], None] | None = None) -> None:
    """Draw a shipped answer's day and machine, and a button that measures it here. name: of the set in the benchmark
    that measured it. again: called on click."""
    known = sources.shipped(question)
    if known is None or not is_shipped(question):
        return
    words = strings("frame")["measured"]

    def measure() -> None:
        sources.measure_again(question)
        if again is not None:
            again()

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(words["line"].format(day=known.measured, seconds=known.seconds),
                   help=words["help"].format(machine=known.machine, command=COMMAND, name=name), width="content")
        st.button(words["again"], key=f"measure-{key}", type="tertiary", on_click=measure)
