"""How the open head is shown: lens and filters."""
from collections.abc import Callable

import streamlit as st

from model.core.measures import head_ids
from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.view import LENSES, QUADRANTS, SCALES, View
from viz.components.slider import slider
from viz.format import format_share, format_weight, head_label
from viz.page import PageContext
from viz.readable_scale import tenth_weight
from viz.text import strings
from viz.widgets.fields import bind, segments, select, toggle

KEEPS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)   # shares of a row's mass


def lens_bar(record: AttentionRecord, view: View, choose: Callable[..., None]) -> None:
    """The lenses that the record has: the picture of a picture, the text of a text."""
    words, other = strings("heads"), "picture" if record.picture is None else "text"
    known = {lens: words["lenses"][lens] for lens in LENSES if lens != other}
    segments(words["lens"], known, choose, "lens", view.lens)


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
        if 1 in record[view.kind].queries.segments and view.kind.base is not Kind.CROSS:
            segments(words["quadrant"], {quadrant: words["quadrants"][quadrant or "all"] for quadrant in QUADRANTS},
                     choose, "quadrant", view.quadrant)
        others = [head for head in head_ids(record[view.kind]) if head != (view.layer, view.head)]
        st.multiselect(words["overlay"], others, max_selections=7, format_func=lambda head: head_label(*head),
                       **bind(_tuples(choose), "overlay", list(view.overlay)))


def _tuples(choose: Callable[..., None]) -> Callable[..., None]:
    return lambda **changes: choose(**{name: tuple(value) for name, value in changes.items()})
