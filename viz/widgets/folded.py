"""What only a few readers want."""
from collections.abc import Callable

import streamlit as st


@st.fragment
def folded(title: str, draw: Callable[[], None], *, key: str) -> None:
    """A part of a page that is folded away, and neither made nor sent before somebody opens it: source code alone would
    bring every browser Streamlit's highlighter of code, 1.6 MB."""
    with st.expander(title, key=key, on_change="rerun") as opened:
        if opened.open:
            draw()
