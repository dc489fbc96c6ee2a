"""A row of a real head on a lesson page: which head and which token of the current model and sentence, shared with the
page Heads."""
from collections.abc import Callable

import streamlit as st

from model.core.measures import head_ids
from model.core.record import AttentionMap, AttentionRecord
from model.core.types import HeadId
from model.core.view import View
from viz.components.token_strip import StripEvent
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.widgets.fields import bind, segments
from viz.widgets.sentence_strip import sentence_strip
from viz.widgets.verification import verdict


def real_head(page: PageContext, *, token: bool = True) -> tuple[AttentionRecord, View]:
    """Draws the choice of kind, head and (if `token`) token, and gives the record and the view with them. Waits for the
    model.

    What is chosen here is the open head of the page Heads too, and stands in the URL as there.
    """
    record, view = page.record(), page.view()

    def take(event: StripEvent) -> None:
        if event.token is not None:
            page.set(token=event.token)

    if token:
        sentence_strip(record[view.kind].queries, focus=view.token, pairs=False, key="lesson_strip", on_event=take)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind_choice(page, record, view)
        head_choice(strings("lesson")["head"], record[view.kind], (view.layer, view.head), page.set, "head")
        # beside the picture, since a part of a page that answers alone leaves the sidebar's as it was
        st.caption(f"{escape_markdown(record.card.title)} · {verdict(record)}", width="content")
    return record, view


def kind_choice(page: PageContext, record: AttentionRecord, view: View) -> None:
    """The kinds of attention that a record has, where there are several."""
    words = strings("heads")
    if len(record.kinds) > 1:
        segments(words["kind"], {kind: kind.label(words["kinds"]) for kind in record.kinds}, page.set, "kind",
                 view.kind)


def head_choice(label: str, attention_map: AttentionMap, chosen: HeadId, choose: Callable[..., None],
                field: str) -> None:
    """One head of all; a new one goes to choose(field=…)."""
    name = strings("lesson")["head_name"]
    st.selectbox(label, head_ids(attention_map), format_func=lambda head: name.format(layer=head[0], head=head[1]),
                 width=220, **bind(choose, field, chosen))
