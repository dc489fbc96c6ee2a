"""The page of lessons: the Transformer's figure with boxes that open lessons, the list of all lessons, and the
classroom sheets."""
from collections.abc import Mapping

import streamlit as st

from clearhead.viz.components.transformer_diagram import Door, transformer_diagram
from clearhead.viz.page import Page, PageContext, lessons
from clearhead.viz.text import Texts, menu, page_titles, strings
from clearhead.viz.theme import READABLE
from clearhead.viz.widgets.handout_button import picture_button
from clearhead.viz.widgets.layout import flex_row, heading
from clearhead.viz.widgets.progress import forget, progress, right_answers
from clearhead.viz.widgets.sheets import COPY, sheet_list

WORDS = strings("lesson")

PAGE = Page("nothing", controls=(COPY,))
IN_A_ROW = 3     # cards per row


def render(page: PageContext) -> None:
    """Draw the page."""
    words, names = WORDS["start"], lessons()
    prose = {name: strings(f"lessons/{name}") for name in names}
    heading(words["question"], 2)
    with st.container(width=READABLE):
        st.markdown(words["lead"])
    picture_button(transformer_diagram(_doors(prose), key="anatomy", on_open=page.open_next),
                   beside=lambda: st.caption(words["figure_source"], width="content"))
    done = progress()
    for section, title in words["all"].items():
        heading(title, 3)
        listed = [name for name in menu()[section] if name in names]
        for start in range(0, len(listed), IN_A_ROW):
            for column, name in zip(st.columns(IN_A_ROW), listed[start:start + IN_A_ROW], strict=False):
                with column:
                    _card(page, name, names.index(name) + 1, prose[name], done.get(name, {}))
    if done:
        st.button(words["forget"], type="tertiary", key="forget-answers", on_click=forget, args=(page, *names))
    sheet_list(page)
    _beside(page, words)


def _beside(page: PageContext, words: Texts) -> None:
    """Draw the menu's other sections: each section's question and pages."""
    heading(words["beside"], 3)
    for column, (section, question) in zip(st.columns(len(words["sections"])), words["sections"].items(), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{section}**  \n{question}")
            with st.container(gap=None):
                for name, title in menu()[section].items():   # avoids importing the pages for their titles
                    st.button(title, key=f"beside-{name}", type="tertiary", icon=":material/arrow_forward:",
                              icon_position="right", on_click=page.open_next, args=(name,))


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


def _card(page: PageContext, name: str, number: int, lesson: dict, left: dict[str, object]) -> None:
    """Draw a lesson's card. left: the controls that the browser remembers; the lesson reopens with them."""
    words = WORDS["start"]
    with st.container(border=True, height="stretch", key=f"card-{name}"):
        st.markdown(f"**{number}. {page_titles()[name]}**  \n{lesson['question']}")
        st.caption(_facts(lesson))
        with flex_row("center"):
            st.button(words["continue" if left else "open"], key=f"open-{name}", on_click=page.open_next, args=(name,))
            right, asked = right_answers(name, left)
            if asked:
                sign = ":material/check: " if right == asked else ""
                st.caption(sign + words("answered", right=right, answered=asked), width="content")
