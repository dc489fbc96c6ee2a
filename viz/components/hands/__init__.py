"""A show of hands: how many of a hall chose an answer, tapped in by whoever teaches. The counts stay in the browser's
tab, which alone needs them, until they are cleared or the tab is closed."""
import streamlit as st

from viz.components.files import module_code
from viz.text import strings

_HANDS = st.components.v2.component("clearhead_hands", js=module_code("hands/hands.js", "module.hands()"))


def hands(question: str, place: int, answers: int, *, key: str, told: bool, right: bool = False) -> None:
    """Draws the count of one answer, the one at `place` of so many, with buttons for one more and one fewer; once the
    answer is told, a bar. question: under which name the tab keeps its counts. The key begins with "hands-", by which
    a presentation knows it. right: the bar has the accent colour."""
    words = strings("lecture")["hands"]
    _HANDS(key=key, data=[{"question": question, "place": place, "answers": answers, "told": told, "right": right,
                           "text": words}])


def clear_hands(question: str, *, key: str) -> None:
    """Draws the button that clears a question's counts."""
    _HANDS(key=key, data=[{"question": question, "text": strings("lecture")["hands"]}])
