"""The glossary: each measure and term with its equation, unit, paper, and links to the pages that show it."""
from itertools import groupby

import streamlit as st

from clearhead.viz.app.glossary import Term, places_of, search, term_link, terms
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Words
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import text_for
from clearhead.viz.widgets.layout import heading

WORDS = strings("glossary")

PAGE = Page("nothing", controls=(Words("find", "", 60), Words("term", "", 60)))
IN_A_ROW = 2


def render(page: PageContext) -> None:
    """Draw the page."""
    opened = terms().get(page["term"])
    heading(WORDS["question"], 2)
    with st.container(width=READABLE):
        st.markdown(WORDS["lead"])
        text_for(page, "find", WORDS["find"], 60, placeholder=WORDS["example"])
    if opened:
        with st.container(key="opened"):
            _card(opened, wide=True)
            st.button(WORDS["close"], type="tertiary", key="close-term", on_click=lambda: page.set(term=""))
    matches = [term for term in search(page["find"]) if term is not opened]
    st.caption(WORDS("count", count=len(matches), total=len(terms())) if matches else
               WORDS("none", find=escape_markdown(page["find"])))
    letters = {letter: list(entries) for letter, entries in groupby(matches, lambda term: term.title[0].upper())}
    if len(letters) > 1:
        with st.container(key="letters"):
            st.markdown(" ".join(f"[{letter}](#letter-{letter.lower()})" for letter in letters))
    for letter, entries in letters.items():
        st.subheader(letter, anchor=f"letter-{letter.lower()}")
        for start in range(0, len(entries), IN_A_ROW):
            for column, term in zip(st.columns(IN_A_ROW, gap="medium"), entries[start:start + IN_A_ROW], strict=False):
                with column:
                    _card(term)


def _card(term: Term, wide: bool = False) -> None:
    """Draw one term; its title is a link to it."""
    places = " · ".join(f"[{escape_markdown(label)}]({link})" for label, link in places_of(term))
    menu = WORDS("menu", menu=escape_markdown(term.menu)) if term.menu else ""
    # one equation per line, so that it fits on a phone
    equation = "\\begin{gathered}" + term.equation.replace("\\quad", "\\\\[4pt]") + "\\end{gathered}"
    with st.container(border=True, width=READABLE if wide else "stretch", height="content" if wide else "stretch",
                      key=f"term-{term.name}"):
        title = f"**[{escape_markdown(term.title)}]({term_link(term)})**"
        st.markdown(f"{title}  \n{term.says}{menu}\n\n$$\n{equation}\n$$")
        st.caption(WORDS("about", unit=escape_markdown(term.unit), paper=escape_markdown(term.paper), places=places))
