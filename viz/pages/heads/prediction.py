"""Predicting a head: it is covered, the reader marks its weights, and the marks are scored against the best possible
and the uniform choice."""
import math
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import DisplayedHead, View, displayed_head
from clearhead.model.studies.prediction_game import allowed_cells, cover, score
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.page_controls import Choice, Places
from clearhead.viz.app.session import Kept, session
from clearhead.viz.components.component import Selection
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.lenses import words_of
from clearhead.viz.components.picture import Guess, Head
from clearhead.viz.export.handout.files import Item
from clearhead.viz.style.format import markdown_table, token_markdown
from clearhead.viz.style.numbers import format_weight
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import segments
from clearhead.viz.widgets.handout_button import BETWEEN, offer
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import flex_row, heading, split

WORDS = strings("predict")

# most tokens of the text, most marks in a link, and the stride: a mark is query · STRIDE + key
LONGEST, MOST, STRIDE = 256, 400, 1000
PREDICT = (Choice("predict", "", ("cover", "shown")), Places("marks", STRIDE * STRIDE, MOST))
PREDICTED = Kept("")   # name of the last head revealed
HIGH = 560   # height of the covered head in pixels


def _plain(view: View) -> View:
    """Return the view without filters, because predictions are about the head's own weights."""
    return replace(view, keep=1.0, renormalise=False, overlay=(), lens="text" if view.lens == "text" else "matrix")


def _name(record: AttentionRecord, view: View) -> str:
    """Return a name for what is predicted; the prediction is reset when it changes."""
    query = record.query
    return "\n".join(map(str, (query.model, query.text, query.text_b, query.target, view.kind, view.layer, view.head,
                               view.words, view.hide_special)))


def is_covered(page: PageContext, record: AttentionRecord, view: View) -> bool:
    """Return whether the head is covered. A revealed head is covered again when another head or text is opened."""
    phase, name = page["predict"], _name(record, view)
    if phase == "shown":
        if session().restored or not PREDICTED.value:   # the marks are from a link or from the browser's Back
            PREDICTED.value = name
        if PREDICTED.value != name:
            restart(page)
            phase = "cover"
    return phase == "cover"


def restart(page: PageContext) -> None:
    """Cover the head and delete the marks."""
    PREDICTED.value = ""
    page.set(predict="cover", marks=())


def _leave(page: PageContext) -> None:
    PREDICTED.value = ""
    page.set(predict="", marks=())


def covered_head(page: PageContext, record: AttentionRecord) -> None:
    """Draw the covered head and the instructions."""
    left, right = split(1, 2, gap="large")
    with left:
        heading(WORDS["title"])
        record, view = real_head(page, token=False)
        st.markdown(WORDS("ask", token=token_markdown(record[view.kind].queries.texts[view.token or 0])))
        st.button(WORDS["leave"], key="predict-leave", type="tertiary", on_click=_leave, args=(page,))
    with right:
        if max(len(record[view.kind].queries), len(record[view.kind].keys)) > LONGEST:
            st.info(WORDS("long", longest=LONGEST))
            return
        shown, may = _shown(record, view)
        lenses = {lens: words_of(lens)["name"] for lens in ("matrix", "text")}
        segments(WORDS["lens"], lenses, page.set, "lens", _plain(view).lens)
        head_view(Head((cover(shown, may),), replace(_plain(view), pair=None)), height=HIGH,
                  guess=Guess(f"cover\n{_name(record, view)}", True), key="covered",
                  on_event=lambda event: _take(page, _name(record, view), event))
        offer("covered", WORDS["title"], partial(_covered_item, record, view))


def _covered_item(record: AttentionRecord, view: View, where: str, link: str) -> Item:
    from clearhead.viz.export.handout.build import record_item  # imports what would delay the first page

    return record_item(record, _plain(view), covered=True, where=where.split(BETWEEN)[0], link=link)


def _shown(record: AttentionRecord, view: View) -> tuple[DisplayedHead, np.ndarray]:
    """Return the head as displayed and a mask of the cells that can be marked."""
    shown = displayed_head(record, _plain(view))
    return shown, allowed_cells(record[view.kind].layer(view.layer), shown)


def _take(page: PageContext, name: str, event: Selection) -> None:
    """Store the marks and reveal the head, or focus another row."""
    if event.marks is None:
        page.set(token=event.token)
        return
    PREDICTED.value = name
    page.set(predict="shown", marks=tuple(query * STRIDE + key for query, key in event.marks[:MOST]))


def marked_cells(page: PageContext, record: AttentionRecord, view: View) -> Guess | None:
    """Return the marks to draw over the open head, or None if nothing was predicted."""
    if page["predict"] != "shown":
        return None
    return Guess(f"shown\n{_name(record, view)}\n{page['marks']}", False, _marks(page))


def _marks(page: PageContext) -> tuple[tuple[int, int], ...]:
    return tuple(divmod(mark, STRIDE) for mark in page["marks"])


def score_panel(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the score below the revealed head: each row's, and the mean."""
    shown, may = _shown(record, view)
    result = score(shown, may, _marks(page))
    with st.container(border=True, key="predict-score"):
        if result.rows:
            for place, name, label in zip(st.columns(3), ("found", "best", "uniform"), WORDS["labels"], strict=True):
                place.metric(label, format_weight(result.mean(name)))
            far = WORDS("far", far=result.above_chance) if math.isfinite(result.above_chance) else ""
            st.markdown(f"{WORDS['rows']} {far}")
            st.markdown(markdown_table(WORDS["head"], [
                [escape_markdown(shown.rows[row.row].text), str(row.count),
                 *map(format_weight, (row.found, row.best, row.uniform))] for row in result.rows]))
        else:
            st.markdown(WORDS["nothing"])
        with flex_row(gap="small"):
            st.button(WORDS["again"], key="predict-again", type="tertiary", on_click=restart, args=(page,))
            st.button(WORDS["leave"], key="predict-leave", type="tertiary", on_click=_leave, args=(page,))


def start_button(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the start button if the text is short enough."""
    if page["predict"] == "" and max(len(record[view.kind].queries), len(record[view.kind].keys)) <= LONGEST:
        st.button(WORDS["title"], key="predict-begin", icon=":material/visibility_off:",
                  help=WORDS["help"], on_click=restart, args=(page,))
