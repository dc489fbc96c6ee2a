"""Predict, then reveal: the head is covered, a reader marks where it will look, and the marks are held against the best and the uniform choice."""
import math
from dataclasses import replace

import numpy as np
import streamlit as st

from model.core.displayed import Shown, displayed
from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.prediction_game import Score, allowed, covered, score
from viz.components.head_view import Guess, head_view
from viz.format import format_weight
from viz.handout.build import head_item
from viz.page import Frame
from viz.page_controls import Choice, Places
from viz.text import literal, strings
from viz.widgets.fields import segments
from viz.widgets.handout_button import add_to_handout
from viz.widgets.head_picker import real_head

LONGEST, MOST, STRIDE = 256, 400, 1000   # tokens of a text that is predicted; marks that a link holds; a mark is query · STRIDE + key
PREDICT = (Choice("predict", "", ("cover", "shown")), Places("marks", STRIDE * STRIDE, MOST))
HIGH = 560   # pixels of the covered head


def _plain(view: View) -> View:
    """The view without what changes a weight: a prediction is about the head itself."""
    return replace(view, keep=1.0, renormalise=False, overlay=(), lens="text" if view.lens == "text" else "matrix")


def _name(record: AttentionRecord, view: View) -> str:
    """What is predicted: another name begins anew."""
    query = record.query
    return "\n".join(map(str, (query.model, query.text, query.text_b, query.target, view.kind, view.layer, view.head, view.words, view.hide_special)))


def covering(frame: Frame, record: AttentionRecord, view: View) -> bool:
    """Whether the head is to be predicted; one that was revealed is covered again as soon as another head or text is open."""
    phase, name = frame.controls["predict"], _name(record, view)
    if phase == "shown" and st.session_state.setdefault("predicted", name) != name:
        again(frame)
        phase = "cover"
    return phase == "cover"


def again(frame: Frame) -> None:
    """Covers the head."""
    st.session_state.pop("predicted", None)
    frame.turn(predict="cover", marks=())


def _leave(frame: Frame) -> None:
    st.session_state.pop("predicted", None)
    frame.turn(predict="", marks=())


def cover(frame: Frame, record: AttentionRecord) -> None:
    """The covered head, and what to do with it."""
    words = strings("predict")
    left, right = st.columns([1, 2], gap="large")
    with left:
        st.markdown(f"##### {words['title']}")
        record, view = real_head(frame, token=False)
        st.markdown(words["ask"].format(token=_token(record, view)))
        with st.popover(words["link"], type="tertiary", key="predict-link", on_change="rerun") as opened:
            if opened.open:
                st.caption(words["link_about"])
                state = frame.state.choose(kind=view.kind, head=(view.layer, view.head), token=view.token)
                st.code(frame.link(state), language=None, wrap_lines=True)
        st.button(words["leave"], key="predict-leave", type="tertiary", on_click=_leave, args=(frame,))
    with right:
        if max(len(record[view.kind].queries), len(record[view.kind].keys)) > LONGEST:
            st.info(words["long"].format(longest=LONGEST))
            return
        shown, may = _shown(record, view)
        segments(words["lens"], words["lenses"], frame.choose, "lens", _plain(view).lens)
        head_view(covered(shown, may), _plain(view), focus=view.token, height=HIGH, guess=Guess(f"cover\n{_name(record, view)}", True), key="covered",
                  on_event=lambda event: _take(frame, _name(record, view), event))
        with st.container(horizontal=True, horizontal_alignment="right"):
            add_to_handout("covered", lambda where, link: head_item(record, _plain(view), covered=True, where=where.split(" · ")[0], link=link))


def _shown(record: AttentionRecord, view: View) -> tuple[Shown, np.ndarray]:
    """The head as it is shown, and which of its cells may be marked."""
    shown = displayed(record, _plain(view))
    return shown, allowed(record[view.kind].layer(view.layer), shown)


def _token(record: AttentionRecord, view: View) -> str:
    return literal(record[view.kind].queries.texts[view.token or 0])


def _take(frame: Frame, name: str, event) -> None:
    """Marks that are to be revealed, or another row in focus."""
    if event.marks is None:
        frame.choose(token=event.token)
        return
    st.session_state["predicted"] = name
    frame.turn(predict="shown", marks=tuple(query * STRIDE + key for query, key in event.marks[:MOST]))


def guessed(frame: Frame, record: AttentionRecord, view: View) -> Guess | None:
    """What was marked, to be drawn over the open head; None where nothing was predicted."""
    if frame.controls["predict"] != "shown":
        return None
    return Guess(f"shown\n{_name(record, view)}\n{frame.controls['marks']}", False, _marks(frame))


def _marks(frame: Frame) -> tuple[tuple[int, int], ...]:
    return tuple(divmod(mark, STRIDE) for mark in frame.controls["marks"])


def judged(frame: Frame, record: AttentionRecord, view: View) -> None:
    """The score, below the head that was revealed."""
    words, (shown, may) = strings("predict"), _shown(record, view)
    found = score(shown, may, _marks(frame))
    with st.container(border=True, key="predict-score"):
        if found.rows:
            _score(found, shown)
        else:
            st.markdown(words["nothing"])
        with st.container(horizontal=True, gap="small"):
            st.button(words["again"], key="predict-again", type="tertiary", on_click=again, args=(frame,))
            st.button(words["leave"], key="predict-leave", type="tertiary", on_click=_leave, args=(frame,))


def _score(found: Score, shown: Shown) -> None:
    words, several = strings("predict"), len(found.rows) > 1
    labels = words["labels_rows"] if several else words["labels"]
    for place, name, label in zip(st.columns(3), ("found", "best", "uniform"), labels, strict=True):
        place.metric(label.format(count=found.count, rows=len(found.rows)), format_weight(found.mean(name)))
    far = "" if math.isnan(found.above_chance) else " " + words["far"].format(far=found.above_chance)
    st.markdown((words["rows"] if several else words["row"]).format(
        count=found.count, rows=len(found.rows), token=literal(shown.rows[found.rows[0].row].text), allowed=found.rows[0].allowed) + far)
    if several:
        lines = [f"| {literal(shown.rows[row.row].text)} | {row.count} | {' | '.join(map(format_weight, (row.found, row.best, row.uniform)))} |"
                 for row in found.rows]
        st.markdown("\n".join([f"| {' | '.join(words['head'])} |", "|---|---|---|---|---|", *lines]))


def offered(frame: Frame, record: AttentionRecord, view: View) -> None:
    """The way in, where the text is short enough."""
    if frame.controls["predict"] == "" and max(len(record[view.kind].queries), len(record[view.kind].keys)) <= LONGEST:
        st.button(strings("predict")["title"], key="predict-begin", type="tertiary", help=strings("predict")["help"], on_click=again, args=(frame,))
