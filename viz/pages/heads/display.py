"""How the open head is shown, and how it is taken away: lens, filters, export, link."""
from collections.abc import Callable

import streamlit as st

from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.tables import head_ids
from model.core.view import LENSES, QUADRANTS, SCALES, View
from viz.components.slider import slider
from viz.format import format_share, format_weight, head_label
from viz.page import PageContext
from viz.print.options import Options
from viz.readable_scale import tenth_weight
from viz.session import session
from viz.text import strings
from viz.widgets.fields import bind, segments, select, toggle
from viz.widgets.link_box import link_box

KEEPS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)   # shares of a row's mass


def lens_bar(view: View, choose: Callable[..., None]) -> None:
    """The three lenses."""
    words = strings("heads")
    segments(words["lens"], {lens: words["lenses"][lens] for lens in LENSES}, choose, "lens", view.lens)


def why_scale(page: PageContext, record: AttentionRecord, view: View) -> str:
    """Why a long matrix opens on this scale; nothing where somebody chose it, or it does not matter."""
    tenth = None if "scale" in page.state.user_set else tenth_weight(record[view.kind], view)
    return "" if tenth is None else strings("heads")["scale_chosen"].format(weight=format_weight(tenth))


def filters(record: AttentionRecord, view: View, choose: Callable[..., None], why: str = "") -> None:
    """Everything that changes how the numbers are shown; nothing here changes a number of the model. why: of the
    scale."""
    words = strings("heads")
    with st.popover(words["show"]):
        select(words["scale"], {scale: words["scales"][scale] for scale in SCALES}, choose, "scale", view.scale)
        if why:
            st.caption(f"{words['scales'][view.scale]}, {why}")
        toggle(words["transpose"], choose, "transpose", view.transpose)
        toggle(words["words"], choose, "words", view.words)
        toggle(words["hide_special"], choose, "hide_special", view.hide_special)
        slider(words["keep"], sorted({*KEEPS, view.keep}), view.keep, say=lambda share: format_share(share, 0),
               key="slider-keep", turn=lambda share: choose(keep=share))
        toggle(words["renormalise"], choose, "renormalise", view.renormalise)
        if 1 in record[view.kind].queries.segments and view.kind is not Kind.CROSS:
            segments(words["quadrant"], {quadrant: words["quadrants"][quadrant or "all"] for quadrant in QUADRANTS},
                     choose, "quadrant", view.quadrant)
        others = [head for head in head_ids(record[view.kind]) if head != (view.layer, view.head)]
        st.multiselect(words["overlay"], others, max_selections=7, format_func=lambda head: head_label(*head),
                       **bind(_tuples(choose), "overlay", list(view.overlay)))


def _tuples(choose: Callable[..., None]) -> Callable[..., None]:
    return lambda **changes: choose(**{name: tuple(value) for name, value in changes.items()})


def export_menu(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Files of the open head in its lens, of the grid, of the numbers; each is made when its button is pressed."""
    from viz import export

    words = strings("heads")
    with st.popover(words["export"], type="tertiary"):
        st.caption(words["link"])
        link_box(page)
        zoom = session().export_zoom
        slider(words["export_zoom"], (1, 2, 3, 4), zoom, key="slider-zoom", turn=_set_zoom)
        caption = st.toggle(words["export_caption"], value=True, key="export_caption")
        for subject in (view.lens, "grid", "numbers"):
            st.caption(words["subjects"][subject])
            options = Options(grid=subject == "grid", zoom=zoom, caption=caption, link=page.link())
            with st.container(horizontal=True):
                for suffix, (form, _) in export.formats().items():
                    if subject in form.subjects:
                        _button(suffix, record, view, options)


def _set_zoom(times: int) -> None:
    session().export_zoom = times


def _button(suffix: str, record: AttentionRecord, view: View, options: Options) -> None:
    """A download whose file is made in a thread of its own when somebody asks for it."""
    from viz import export

    form, _ = export.formats()[suffix]
    st.download_button(form.name, lambda: export.export(suffix, record, view, options),
                       export.filename(suffix, record, view, options), form.mime,
                       on_click="ignore", key=f"get_{suffix}_{options.grid}", help=form.about)
