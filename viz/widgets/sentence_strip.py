"""The sentence as a line of a page: the strip of its tokens, and at its end the sign that puts it into the handout."""
from collections.abc import Callable

import streamlit as st

from model.core.record import Tokens
from viz.components.token_strip import StripEvent, token_strip
from viz.widgets.handout_button import add_to_handout, item_maker


def sentence_strip(tokens: Tokens, *, focus: int | None = None, pair: tuple[int, int] | None = None, pairs: bool = True,
                   chosen: bool = True, key: str, on_event: Callable[[StripEvent], None] | None = None) -> None:
    """Draws both. What is in focus, what a pair is, whether somebody chose it and when on_event is called: as of
    `token_strip`."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            picture = token_strip(tokens, focus=focus, pair=pair, pairs=pairs, chosen=chosen, key=key,
                                  on_event=on_event)
        add_to_handout(key, item_maker(picture), sign=True)
