"""The export menu: one choice of what to save in which format, and one button."""
from collections.abc import Callable
from functools import partial

import streamlit as st

from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.components.slider import slider
from clearhead.viz.style.format import head_label
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fragment import says_why

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
    from clearhead.viz.export.comparison import KINDS
    from clearhead.viz.export.formats import FORMATS, Options, caption, columns, export, filename
    from clearhead.viz.export.paper.columns import WIDTHS, Layout

    files: dict[str, Made] = {}
    with_caption = st.toggle(WORDS["export_caption"], value=True, key="export_caption")
    for subject in (view.lens, "grid", "numbers"):
        options = Options(subject == "grid", _ZOOM.value, with_caption, page.link())
        files |= {f"{WORDS['subjects'][subject]}: {form.name}, {form.about}": (
            partial(export, form.suffix, record, view, options), filename(form.suffix, record, view, options),
            form.mime) for form in FORMATS.values() if subject in form.subjects}
    layouts = {width: Layout((view.head_id, *view.overlay), width) for width in WIDTHS}
    stem = "-".join(["clearhead", *(f"{layer}.{head}" for layer, head in (view.head_id, *view.overlay))])
    of_paper = {WORDS["columns_widths"](width, millimetres=WIDTHS[width], kind=kind.upper()): (width, kind)
                for width in WIDTHS for kind in KINDS}
    files |= {label: (partial(columns, record, view, kind, layouts[width]), f"{stem}.{kind}", KINDS[kind])
              for label, (width, kind) in of_paper.items()}
    chosen = save_choice("export", files)
    if "PNG" in chosen and chosen not in of_paper:
        slider(WORDS["export_zoom"], (1, 2, 3, 4), _ZOOM.value, key="slider-zoom", turn=_ZOOM.put)
    if chosen in of_paper:
        st.caption(WORDS("columns", heads=", ".join(head_label(*head) for head in (view.head_id, *view.overlay))))
        st.caption(WORDS["columns_caption"])
        st.code(caption(record, view, layouts[of_paper[chosen][0]]), language=None, wrap_lines=True)
