"""The choice of a page's head and token, and the badge that says whether the weights match the model's own."""
from collections.abc import Callable

import streamlit as st

from clearhead.model.core.heads import head_ids
from clearhead.model.core.query import HeadId
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.components.component import Selection
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.style.numbers import format_difference
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import segments, select
from clearhead.viz.widgets.layout import flex_row

WORDS = strings("frame")

MARKS = {"verified": "✓", "computed": "○", "reported": "○", "imported": "○", "recorded": "○", "kept": "◔"}


def verdict(record: AttentionRecord) -> str:
    """Return the verdict in one word, with its symbol."""
    status = record.verification.status
    return f"{MARKS.get(status, '✗')} {WORDS[status]}"


def show_badge(badge: DeltaGenerator, record: AttentionRecord) -> None:
    """Draw the verification result and its numbers below the model's name."""
    verification = record.verification
    card = record.card
    with badge.popover(verdict(record)):
        if verification.status == "imported":
            st.markdown(f"**{escape_markdown(card.title)}**  \n{card.layers} × {card.heads}  \n`{card.revision[:16]}`")
        else:
            st.markdown(f"**{escape_markdown(card.title)}**  \n{card.architecture} · {card.layers} × {card.heads} · "
                        f"d_model {card.d_model} · "
                    f"d_head {card.d_head} · {card.parameters:,} parameters · positions: "
                    f"{escape_markdown(card.positions)} · {escape_markdown(card.licence)}  \n"
                    f"`{card.revision[:16]}`")
        if card.note:
            st.markdown(escape_markdown(card.note))
        rows = {"load": verification.load_error, "pass": verification.max_error, "row_sum": verification.row_sum_error,
                "tolerance": verification.tolerance}
        st.markdown("\n".join(f"- {WORDS['badge'][name]}: **{format_difference(value)}**"
                              for name, value in rows.items() if value == value)
                    + f"\n- {WORDS['badge']['rows']}: **{verification.rows_checked}**")
        for reason in verification.reasons:
            st.markdown(f"- {escape_markdown(reason)}")


def real_head(page: PageContext, *, token: bool = True) -> tuple[AttentionRecord, View]:
    """Draw the choice of kind, head and (if `token`) token; return the record and the resulting view. Waits for the
    model.

    The chosen head is also the open head of the page Heads, with the same URL parameters.
    """
    record, view = page.record(), page.view()

    def take(event: Selection) -> None:
        if event.token is not None:
            page.set(token=event.token)

    if token:
        token_strip(record[view.kind].queries, focus=view.token, pairs=False, key="lesson_strip", on_event=take)
    with flex_row("bottom"):
        kind_choice(page, record, view)
        head_choice(strings("lesson")["head"], record[view.kind], view.head_id, page.set, "head")
        # shown beside the picture, because a fragment cannot update the sidebar
        st.caption(f"{escape_markdown(record.card.title)} · {verdict(record)}", width="content")
    return record, view


def kind_choice(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the choice of attention kind if a record has more than one."""
    words = strings("heads")
    if len(record.kinds) > 1:
        segments(words["kind"], {kind: kind.label(words["kinds"]) for kind in record.kinds}, page.set, "kind",
                 view.kind)


def head_choice(label: str, attention_map: AttentionMap, chosen: HeadId, choose: Callable[..., None],
                field: str) -> None:
    """Draw the choice of a head and pass a new one to choose(field=…)."""
    name = strings("lesson")["head_name"]
    heads = {head: name.format(layer=head[0], head=head[1]) for head in head_ids(attention_map)}
    select(label, heads, choose, field, chosen, width=220)
