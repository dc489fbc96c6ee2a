"""The button that takes a lesson's notebook away, at the lesson's end and in the list of all."""
from functools import partial

import streamlit as st

from viz.handout.lesson_notebook import MIME, file_name, notebook, notebook_names
from viz.text import strings


def notebook_button(name: str, link: str, words: str = "", help: str | None = None, solution: bool = False) -> None:
    """Draws it for a lesson that has a notebook; the file is made when it is pressed. link: where the lesson is; words:
    on the button, "" for its own."""
    if name in notebook_names():
        st.download_button(words or strings("sheets")["notebook"]["button"],
                           partial(notebook, name, link, solution), file_name(name, solution), MIME,
                           on_click="ignore", key=f"notebook-{name}", help=help, icon=":material/download:")
