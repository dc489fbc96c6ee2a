"""What every page is laid out with: its title, headings, rows, columns and lists."""
from collections.abc import Iterable
from typing import Any, Literal

import streamlit as st

from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.style.text import Texts, strings
from clearhead.viz.style.theme import READABLE_WIDE


def heading(title: str, level: int = 5, **look: Any) -> None:
    """Draw a heading. level: 1 for the largest. look: as in `st.markdown`."""
    st.markdown(f"{'#' * level} {title}", **look)


def opening(name: str, width: int | Literal["stretch"] = READABLE_WIDE) -> Texts:
    """Draw the title question and the lead of a page that is not a lesson, and return its texts."""
    words = strings(name)
    heading(words["question"], 2)
    st.markdown(words["lead"], width=width)
    return words


def prose(text: str) -> None:
    """Draw a text in lines of a readable length, on a page with wide figures."""
    st.markdown(text, width=READABLE_WIDE)


def note(text: str) -> None:
    """Draw small text in lines of a readable length, on a page with wide figures."""
    st.caption(text, width=READABLE_WIDE)


def flex_row(align: Literal["top", "center", "bottom"] = "top", **look: Any) -> DeltaGenerator:
    """Draw a row that wraps in a narrow window. align: its vertical alignment. look: as in `st.container`."""
    return st.container(horizontal=True, vertical_alignment=align, **look)


def split(*widths: float, gap: Literal["small", "medium", "large"] = "medium", **look: Any) -> list[DeltaGenerator]:
    """Draw columns of these relative widths; two equal ones by default. look: as in `st.columns`."""
    return st.columns(widths or 2, gap=gap, **look)


def bullets(lines: Iterable[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)
