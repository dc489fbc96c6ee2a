"""A row of a real head on a lesson page: which head and which token of the current model and sentence, shared with the
page Heads."""
import streamlit as st

from model.core.measures import head_ids
from model.core.record import AttentionRecord
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
    record, view, words = page.record(), page.view(), strings("lesson")
    if token:
        sentence_strip(record[view.kind].queries, focus=view.token, pairs=False, key="lesson_strip",
                       on_event=lambda event: _take(page, event))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(record.kinds) > 1:
            segments(words["kind"], {kind: kind.label(words["kinds"]) for kind in record.kinds}, page.set, "kind",
                     view.kind)
        st.selectbox(words["head"], head_ids(record[view.kind]),
                     format_func=lambda head: words["head_name"].format(layer=head[0], head=head[1]), width=220,
                     **bind(page.set, "head", (view.layer, view.head)))
        # beside the picture, since a part of a page that answers alone leaves the sidebar's as it was
        st.caption(f"{escape_markdown(record.card.title)} · {verdict(record)}", width="content")
    return record, view


def _take(page: PageContext, event: StripEvent) -> None:
    if event.token is not None:
        page.set(token=event.token)
