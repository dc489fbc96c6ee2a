"""The classroom sheets on a page: each to be read there, and to be taken away as PDF, as HTML or as Markdown, in the
students' or the teachers' copy."""
from functools import partial

import streamlit as st

from viz.handout import pdf
from viz.handout.sheet import Sheet, markdown, page, sheet, sheet_names
from viz.page import PageContext, own_address
from viz.page_controls import Choice
from viz.text import strings
from viz.theme import READABLE
from viz.widgets.control_widgets import choice_for

COPY = Choice("copy", "students", ("students", "teachers"))   # the control of a page that shows sheets
DEEPER = 2   # a sheet's headings are below the page's own


def sheet_list(page: PageContext) -> None:
    """Draws all sheets, each folded."""
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


def _files(shown: Sheet, name: str) -> None:
    """The copy's files; each is made when its button is pressed. name: theirs, without an ending."""
    words, base = strings("sheets"), own_address().partition("?")[0].rpartition("/")[0] + "/"
    kinds = {"html": ("text/html", partial(page, shown, base)),
             "markdown": ("text/markdown", partial(_markdown, shown, base))}
    if pdf.browser():
        kinds = {"pdf": ("application/pdf", lambda: pdf.printed(page(shown, base)))} | kinds
    with st.container(horizontal=True, gap="small"):
        for kind, (mime, make) in kinds.items():
            st.download_button(words[kind], make, f"{name}.{'md' if kind == 'markdown' else kind}", mime,
                               on_click="ignore", key=f"{kind}-{name}")


def _markdown(shown: Sheet, base: str) -> bytes:
    return markdown(shown, base).encode("utf-8")
