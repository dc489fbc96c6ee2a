"""The classroom sheets and lesson notebooks that one takes away."""
from collections.abc import Callable
from functools import partial

import streamlit as st

from viz.handout import pdf
from viz.handout.lesson_notebook import MIME, file_name, notebook, notebook_names
from viz.handout.sheet import Sheet, markdown, sheet, sheet_names
from viz.handout.sheet import page as html_page
from viz.page import PageContext, own_address, pages
from viz.page_controls import Choice
from viz.text import strings
from viz.theme import READABLE
from viz.widgets.fields import choice_for


def notebook_button(name: str, link: str, words: str = "", help: str | None = None, solution: bool = False) -> None:
    """Draw it for a lesson that has a notebook; the file is made when it is pressed. link: where the lesson is; words:
    on the button, "" for its own."""
    if name in notebook_names():
        st.download_button(words or strings("sheets")["notebook"]["button"],
                           partial(notebook, name, link, solution), file_name(name, solution), MIME,
                           on_click="ignore", key=f"notebook-{name}", help=help, icon=":material/download:")


COPY = Choice("copy", "students", ("students", "teachers"))   # the control of a page that shows sheets
DEEPER = 2   # a sheet's headings are below the page's own


def sheet_list(page: PageContext) -> None:
    """Draw all sheets, each folded."""
    words = strings("sheets")
    st.markdown(f"### {words['title']}")
    choice_for(page, "copy", words["copy"], words["copies"])
    for name in sheet_names():
        shown = sheet(name, page.controls["copy"] == "teachers")
        with st.expander(shown.title, key=f"sheet-{name}"), st.container(width=READABLE):
            _files(shown, f"{name}-{page.controls['copy']}")
            st.markdown(markdown(shown, deeper=DEEPER))
    if not pdf.browser():
        st.caption(words["no_pdf"])
    _notebooks(page.controls["copy"] == "teachers")


def _notebooks(solution: bool) -> None:
    """Draw the notebook of every lesson, with its exercise solved in the teachers' copy."""
    words, known, base = strings("sheets")["notebook"], pages(), _base()
    with st.expander(words["all"], key="notebooks"):
        st.markdown(words["about"], width=READABLE)
        with st.container(horizontal=True, gap="small"):
            for name in filter(notebook_names().__contains__, known):
                notebook_button(name, base + name, known[name][0].title, solution=solution)


def _base() -> str:
    """Return what the address of every page begins with."""
    return own_address().partition("?")[0].rpartition("/")[0] + "/"


def _files(shown: Sheet, name: str) -> None:
    """Draw the copy's files; each is made when its button is pressed. name: theirs, without an ending."""
    words, base = strings("sheets"), _base()
    kinds: list[tuple[str, str, str, Callable[[], bytes | str]]] = [
        ("pdf", "pdf", "application/pdf", lambda: pdf.printed(html_page(shown, base))),
        ("html", "html", "text/html", lambda: html_page(shown, base)),
        ("markdown", "md", "text/markdown", lambda: markdown(shown, base))]
    with st.container(horizontal=True, gap="small"):
        for kind, ending, mime, make in kinds if pdf.browser() else kinds[1:]:
            st.download_button(words[kind], make, f"{name}.{ending}", mime, on_click="ignore", key=f"{kind}-{name}")
