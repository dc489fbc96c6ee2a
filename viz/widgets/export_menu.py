"""The export menu: one choice of what to save in which format, and one button."""
from collections.abc import Callable, Iterable
from functools import partial

import streamlit as st

from clearhead.model.core.query import head_label
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.components.lenses import words_of
from clearhead.viz.components.slider import slider
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fragment import says_why

WORDS = strings("heads")

_ZOOM = Kept(2)   # exported pixels per screen pixel


def choose_file(key: str, labels: Iterable[str]) -> str:
    """Draw the choice of what to save, by default the first, and return its label."""
    chosen: str = st.selectbox(WORDS["export_what"], list(labels), key=f"{key}-what")
    return chosen


def save_button(key: str, make: Callable[[], bytes], name: str, mime: str) -> None:
    """Draw the button that saves the chosen file, created on click."""
    st.download_button(WORDS["export_save"], make, name, mime, on_click="ignore", key=f"{key}-save", type="primary")


def save_table(label: str, key: str, name: str, make: Callable[[], bytes], provenance: Callable[[], str]) -> None:
    """Draw the downloads of a table as CSV and of its provenance as JSON, each created on click."""
    for text, create, suffix, mime in ((label, make, "csv", "text/csv"),
                                       (WORDS["provenance"], provenance, "json", "application/json")):
        st.download_button(text, create, f"{name}.{suffix}", mime, on_click="ignore", key=f"{key}-{suffix}")


def export_menu(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the menu: the open head under its current lens, the grid, the numbers, or a figure for a paper."""
    with st.popover(WORDS["export"], type="tertiary", key="export", on_change="rerun") as opened:
        if opened.open:
            _choices(page, record, view)


@says_why   # a lens of one token, with none in focus
def _choices(page: PageContext, record: AttentionRecord, view: View) -> None:
    # imports what would delay the first page
    from clearhead.viz.export.formats import Options, caption, export, filename, formats_of
    from clearhead.viz.export.paper.columns import WIDTHS, Layout

    subjects = {view.lens: words_of(view.lens)["subject"], **WORDS["subjects"]}
    known = {f"{said}: {form.name}": (form, subject) for subject, said in subjects.items()
             for form in formats_of(subject)}
    known |= {WORDS["columns_widths"](width, millimetres=millimetres, kind=form.name): (form, width)
              for width, millimetres in WIDTHS.items() for form in formats_of("paper")}
    form, subject = known[choose_file("export", known)]
    st.caption(form.about)
    heads = view.head_id, *view.overlay
    if subject in WIDTHS:
        options = Options(zoom=4, layout=Layout(heads, subject))
        st.caption(WORDS("columns", heads=", ".join(head_label(*head) for head in heads)))
    else:
        if form.suffix == ".png":
            slider(WORDS["export_zoom"], (1, 2, 3, 4), _ZOOM.value, key="slider-zoom", turn=_ZOOM.put)
        with_caption = subject == "numbers" or st.toggle(WORDS["export_caption"], value=True, key="export_caption")
        options = Options(subject == "grid", _ZOOM.value, with_caption, page.link())
    save_button("export", partial(export, form.suffix, record, view, options),
                filename(form.suffix, record, view, options), form.mime)
    if options.layout is not None:
        st.caption(WORDS["columns_caption"])
        st.code(caption(record, view, options.layout), language=None, wrap_lines=True)
