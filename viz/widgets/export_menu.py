"""The export menu: a view's files in every format."""
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
from clearhead.viz.widgets.layout import flex_row

if TYPE_CHECKING:
    from clearhead.viz.export.formats import Format, Options

WORDS = strings("heads")


_ZOOM = Kept(2)   # exported pixels per screen pixel


def export_menu(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the downloads, once the menu is opened: the open head under its current lens, the grid, and the numbers.
    Each file is created on click."""
    with st.popover(WORDS["export"], type="tertiary", key="export", on_change="rerun") as opened:
        if not opened.open:
            return
        from clearhead.viz.export.formats import FORMATS, Options  # would delay the first page

        zoom = _ZOOM.value
        slider(WORDS["export_zoom"], (1, 2, 3, 4), zoom, key="slider-zoom", turn=_ZOOM.put)
        caption = st.toggle(WORDS["export_caption"], value=True, key="export_caption")
        for subject in (view.lens, "grid", "numbers"):
            st.caption(WORDS["subjects"][subject])
            options = Options(grid=subject == "grid", zoom=zoom, caption=caption, link=page.link())
            with flex_row():
                for form in FORMATS.values():
                    if subject in form.subjects:
                        _button(form, record, view, options)
        _for_a_paper(record, view)


@says_why   # a lens of one token, with none in focus
def _for_a_paper(record: AttentionRecord, view: View) -> None:
    """Draw the download of a one-column paper figure (the open head and those chosen with it) and its caption."""
    from clearhead.viz.export.comparison import KINDS
    from clearhead.viz.export.formats import caption, columns
    from clearhead.viz.export.paper.columns import WIDTHS, Layout

    chosen = (view.head_id, *view.overlay)
    st.caption(WORDS("columns", heads=", ".join(head_label(*head) for head in chosen)))
    names = {name: WORDS["columns_widths"](name, millimetres=wide) for name, wide in WIDTHS.items()}
    width = st.segmented_control(WORDS["columns_width"], list(names), format_func=names.__getitem__, required=True,
                                 default=next(iter(names)), key="export-width", label_visibility="collapsed")
    layout = Layout(chosen, width)
    stem = "-".join(["clearhead", *(f"{layer}.{head}" for layer, head in chosen)])
    with flex_row():
        for kind, mime in KINDS.items():
            made = partial(columns, record, view, kind, layout)
            st.download_button(kind.upper(), made, f"{stem}.{kind}", mime,
                               on_click="ignore", key=f"columns-{kind}")
    st.caption(WORDS["columns_caption"])
    st.code(caption(record, view, layout), language=None, wrap_lines=True)


def _button(form: "Format", record: AttentionRecord, view: View, options: "Options") -> None:
    """Draw a download button whose file is created in its own thread on click."""
    from clearhead.viz.export.formats import export, filename

    st.download_button(form.name, lambda: export(form.suffix, record, view, options),
                       filename(form.suffix, record, view, options), form.mime,
                       on_click="ignore", key=f"get_{form.suffix}_{options.grid}", help=form.about)
