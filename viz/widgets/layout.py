"""What every page is laid out with: its title, headings, rows, columns and lists."""
from collections.abc import Iterable
from typing import Any, Literal

import streamlit as st

from clearhead.viz.app.session import Kept
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


_CLOSED = Kept[dict[str, int]]({})   # how often each menu was closed in a callback


def menu(label: str, key: str, **look: Any) -> DeltaGenerator:
    """Draw a popover that `close_menu` can close; `open` says whether it is. look: as in `st.popover`."""
    with st.container(key=key, width="content"):
        # a closed one is a new one, because Streamlit reopens one that was closed in the session state
        return st.popover(label, key=f"{key}-{_CLOSED.value.get(key, 0)}", on_change="rerun", **look)


def close_menu(key: str) -> None:
    """Close a menu, in a callback."""
    _CLOSED.value = _CLOSED.value | {key: _CLOSED.value.get(key, 0) + 1}


def split(*widths: float, gap: Literal["small", "medium", "large"] = "medium", **look: Any) -> list[DeltaGenerator]:
    """Draw columns of these relative widths; two equal ones by default. look: as in `st.columns`."""
    return st.columns(widths or 2, gap=gap, **look)


def bullets(lines: Iterable[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)
