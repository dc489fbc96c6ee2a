"""Downloads of the classroom sheets and lesson notebooks."""
from collections.abc import Callable
from functools import partial

import streamlit as st

from clearhead.viz.app.page import PageContext, base_address, pages
from clearhead.viz.app.page_controls import Choice
from clearhead.viz.export.handout import pdf
from clearhead.viz.export.handout.lesson_notebook import MIME, file_name, notebook, notebook_names
from clearhead.viz.export.handout.sheet import Sheet, markdown, sheet, sheet_names
from clearhead.viz.export.handout.sheet import page as html_page
from clearhead.viz.style.text import Texts, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import choice_for
from clearhead.viz.widgets.layout import flex_row, heading

WORDS = strings("sheets")


def notebook_button(name: str, link: str, words: str = "", help: str | None = None, solution: bool = False) -> None:
    """Draw the download of a lesson's notebook, created on click. link: the lesson's URL. words: the button's label; ""
    for the default."""
    if name in notebook_names():
        st.download_button(words or WORDS["notebook"]["button"],
                           partial(notebook, name, link, solution), file_name(name, solution), MIME,
                           on_click="ignore", key=f"notebook-{name}", help=help, icon=":material/download:")


COPY = Choice("copy", "students", ("students", "teachers"))   # whose copy of the sheets a page shows
DEEPER = 2   # heading levels by which a sheet is nested in the page


def sheet_list(page: PageContext) -> None:
    """Draw all sheets, each in an expander."""
    heading(WORDS["title"], 3)
    choice_for(page, "copy", WORDS["copy"], WORDS["copies"])
    for name in sheet_names():
        shown = sheet(name, page["copy"] == "teachers")
        with st.expander(shown.title, key=f"sheet-{name}"), st.container(width=READABLE):
            _files(shown, f"{name}-{page['copy']}")
            st.markdown(markdown(shown, deeper=DEEPER))
    if not pdf.browser():
        st.caption(WORDS["no_pdf"])
    _notebooks(page["copy"] == "teachers")


def _notebooks(solution: bool) -> None:
    """Draw the downloads of every lesson's notebook; in the teachers' copy with its exercise solved."""
    words, known, base = WORDS["notebook"], pages(), base_address()
    with st.expander(words["all"], key="notebooks"):
        st.markdown(words["about"], width=READABLE)
        with flex_row(gap="small"):
            for name in filter(notebook_names().__contains__, known):
                notebook_button(name, base + name, known[name][0].title, solution=solution)


def _files(shown: Sheet, name: str) -> None:
    """Draw a sheet's downloads, created on click. name: file name without extension."""
    base = base_address()
    with flex_row(gap="small"):
        page_buttons(WORDS, name, lambda: html_page(shown, base))
        st.download_button(WORDS["markdown"], lambda: markdown(shown, base), f"{name}.md", "text/markdown",
                           on_click="ignore", key=f"markdown-{name}")


def page_buttons(words: Texts, name: str, make: Callable[[], bytes]) -> None:
    """Draw the downloads of an HTML page and, if it can be printed here, of its PDF, created on click. name: file name
    without extension."""
    if pdf.browser():
        st.download_button(words["pdf"], lambda: pdf.printed(make()), f"{name}.pdf", "application/pdf",
                           on_click="ignore", key=f"pdf-{name}")
    st.download_button(words["html"], make, f"{name}.html", "text/html", on_click="ignore", key=f"html-{name}")
