"""Every measure and term of Clearhead: equation, unit, paper, and a link to where it is shown."""
import streamlit as st

from viz.glossary import Term, address, search, shown, terms
from viz.page import Frame, Page
from viz.page_controls import Words
from viz.text import literal, strings
from viz.widgets.fields import bound
from viz.widgets.lesson import READABLE

PAGE = Page("Glossary", "Learn", 90, "nothing", controls=(Words("find", "", 60), Words("term", "", 60)))
IN_A_ROW = 2


def render(frame: Frame) -> None:
    words, opened = strings("glossary"), terms().get(frame.controls["term"])
    st.markdown(f"## {words['question']}")
    with st.container(width=READABLE):
        st.markdown(words["lead"])
        st.text_input(words["find"], max_chars=60, placeholder=words["example"], **bound(frame.turn, "find", frame.controls["find"]))
    if opened:
        with st.container(key="opened"):
            _card(opened, words, wide=True)
            st.button(words["close"], type="tertiary", key="close-term", on_click=lambda: frame.turn(term=""))
    found = [term for term in search(frame.controls["find"]) if term is not opened]
    st.caption(words["count"].format(count=len(found), total=len(terms())) if found else
               words["none"].format(find=literal(frame.controls["find"])))
    for start in range(0, len(found), IN_A_ROW):
        for column, term in zip(st.columns(IN_A_ROW, gap="medium"), found[start:start + IN_A_ROW], strict=False):
            with column:
                _card(term, words)


def _card(term: Term, words: dict, wide: bool = False) -> None:
    """One term. The title is the link to it."""
    places = " · ".join(f"[{literal(label)}]({link})" for label, link in shown(term))
    menu = words["menu"].format(menu=literal(term.menu)) if term.menu else ""
    equation = "\\begin{gathered}" + term.equation.replace("\\quad", "\\\\[4pt]") + "\\end{gathered}"   # a line each, for a phone
    with st.container(border=True, width=READABLE if wide else "stretch", height="content" if wide else "stretch", key=f"term-{term.name}"):
        st.markdown(f"**[{literal(term.title)}]({address(term)})**  \n{term.says}{menu}\n\n$$\n{equation}\n$$")
        st.caption(words["about"].format(unit=literal(term.unit), paper=literal(term.paper), places=places))
