"""Whether the weights on screen are the model's own: the mark, and what was held against what."""
import streamlit as st

from model.core.record import AttentionRecord
from viz.format import format_difference
from viz.streamlit_patch import DeltaGenerator
from viz.text import escape_markdown, strings

MARKS = {"verified": "✓", "reported": "○", "imported": "○", "recorded": "○"}


def verdict(record: AttentionRecord) -> str:
    """In a word, with its mark."""
    status = record.verification.status
    return f"{MARKS.get(status, '✗')} {strings('frame')[status]}"


def badge_label(record: AttentionRecord) -> str:
    """The verdict and, of a verified record, the difference in the pass that made it, which a picture's caption quotes
    too."""
    verification = record.verification
    if verification.status != "verified":
        return verdict(record)
    difference = strings("frame")["in_this_pass"].format(error=format_difference(verification.max_error))
    return f"{verdict(record)} · {difference}"


def show_badge(badge: DeltaGenerator, record: AttentionRecord) -> None:
    """The verification and its figures, under the model's name."""
    words, verification = strings("frame"), record.verification
    card = record.card
    changed = f" · {words['version']}" if card.changed else ""
    with badge.popover(badge_label(record) + changed):
        if card.changed:
            st.warning(escape_markdown(card.changed))
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
        st.markdown("\n".join(f"- {words['badge'][name]}: **{format_difference(value)}**"
                              for name, value in rows.items() if value == value)
                    + f"\n- {words['badge']['rows']}: **{verification.rows_checked}**")
        for reason in verification.reasons:
            st.markdown(f"- {escape_markdown(reason)}")
