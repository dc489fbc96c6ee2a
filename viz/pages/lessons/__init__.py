"""The page of lessons: a card for each lesson, the Transformer's figure with boxes that open lessons, and the
classroom sheets."""
from collections.abc import Mapping

import streamlit as st

from clearhead.viz.app.page import Page, PageContext, lessons
from clearhead.viz.components.diagram.transformer import Door, transformer_diagram
from clearhead.viz.style.text import Texts, page_titles, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.cards import page_cards
from clearhead.viz.widgets.layout import heading
from clearhead.viz.widgets.progress import forget, progress, right_answers
from clearhead.viz.widgets.sheets import COPY, sheet_list

WORDS = strings("lesson")

PAGE = Page("nothing", controls=(COPY,))


def render(page: PageContext) -> None:
    """Draw the page."""
    words, names = WORDS["start"], lessons()
    prose = {name: strings(f"lessons/{name}") for name in names}
    done = progress()

    def end(name: str) -> None:
        left = done.get(name, {})   # the controls that the browser remembers; the lesson reopens with them
        st.button(words["continue" if left else "open"], key=f"open-{name}", on_click=page.open_next, args=(name,))
        right, asked = right_answers(name, left)
        if asked:
            sign = ":material/check: " if right == asked else ""
            st.caption(sign + words("answered", right=right, answered=asked), width="content")

    heading(words["question"], 2)
    st.markdown(words["lead"], width=READABLE)
    page_cards(page, prose, lambda name: _facts(prose[name]), end)
    if done:
        st.button(words["forget"], type="tertiary", key="forget-answers", on_click=forget, args=(page, *names))
    heading(words["figure"], 3)
    st.markdown(words["figure_lead"], width=READABLE)
    transformer_diagram(_doors(prose), key="anatomy", on_open=page.open_next)
    st.caption(words["figure_source"])
    sheet_list(page)


def _doors(prose: Mapping[str, Texts]) -> dict[str, Door]:
    """Return the lesson of each box, by box name. If several lessons name a box, the first in the menu wins."""
    doors: dict[str, Door] = {}
    for name, lesson in prose.items():
        before = tuple(box for other in lesson["builds_on"] if other in prose for box in prose[other]["boxes"])
        about = f"{page_titles()[name]}: {lesson['question']} · {_facts(lesson)}"
        for box in lesson["boxes"]:
            doors.setdefault(box, Door(name, about, lesson["minutes"], before))
    return doors


def _facts(lesson: dict) -> str:
    """Return the lesson's duration and the lessons it builds on."""
    titles = page_titles()
    before = ", ".join(titles[other] for other in lesson["builds_on"])
    minutes = WORDS("minutes", minutes=lesson["minutes"])
    return f"{minutes} · {WORDS['builds_on']} {before}" if before else minutes
