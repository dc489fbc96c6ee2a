"""The export menu: one choice of what to save in which format, and one button."""
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.components.slider import slider
from clearhead.viz.style.format import head_label
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fragment import says_why

if TYPE_CHECKING:
    from clearhead.viz.export.formats import Format, Options

WORDS = strings("heads")

_ZOOM = Kept(2)   # exported pixels per screen pixel
Made = tuple[Callable[[], bytes], str, str]   # creates the file; its name; its MIME type


def save_choice(key: str, files: dict[str, Made]) -> str:
    """Draw the choice of a file by its label, and the button that saves it, created on click. Return the label."""
    labels = list(files)
    first = next(place for place, label in enumerate(labels) if "PNG" in label)
    chosen: str = st.selectbox(WORDS["export_what"], labels, first, key=f"{key}-what")
    make, name, mime = files[chosen]
    st.download_button(WORDS["export_save"], make, name, mime, on_click="ignore", key=f"{key}-save", type="primary")
    return chosen


def export_menu(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the menu: the open head under its current lens, the grid, the numbers, or a figure for a paper."""
    with st.popover(WORDS["export"], type="tertiary", key="export", on_change="rerun") as opened:
        if opened.open:
            _choices(page, record, view)


@says_why   # a lens of one token, with none in focus
def _choices(page: PageContext, record: AttentionRecord, view: View) -> None:
    # imports what would delay the first page
    from clearhead.viz.export.formats import Options, caption, formats_of
    from clearhead.viz.export.paper.columns import WIDTHS, Layout

    files: dict[str, Made] = {}
    with_caption = st.toggle(WORDS["export_caption"], value=True, key="export_caption")
    for subject in (view.lens, "grid", "numbers"):
        options = Options(subject == "grid", _ZOOM.value, with_caption, page.link())
        files |= {f"{WORDS['subjects'][subject]}: {form.name}, {form.about}": _file(form, record, view, options)
                  for form in formats_of(subject)}
    layouts = {}
    for width, millimetres in WIDTHS.items():
        for form in formats_of("paper"):
            label = WORDS["columns_widths"](width, millimetres=millimetres, kind=form.name)
            layouts[label] = Layout((view.head_id, *view.overlay), width)
            files[label] = _file(form, record, view, Options(zoom=4, layout=layouts[label]))
    chosen = save_choice("export", files)
    if "PNG" in chosen and chosen not in layouts:
        slider(WORDS["export_zoom"], (1, 2, 3, 4), _ZOOM.value, key="slider-zoom", turn=_ZOOM.put)
    if chosen in layouts:
        st.caption(WORDS("columns", heads=", ".join(head_label(*head) for head in (view.head_id, *view.overlay))))
        st.caption(WORDS["columns_caption"])
        st.code(caption(record, view, layouts[chosen]), language=None, wrap_lines=True)


def _file(form: "Format", record: AttentionRecord, view: View, options: "Options") -> Made:
    from clearhead.viz.export.formats import export, filename

    return (partial(export, form.suffix, record, view, options), filename(form.suffix, record, view, options),
            form.mime)
