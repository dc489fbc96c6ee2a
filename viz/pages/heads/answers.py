"""What Heads shows of a model that answers a question about a picture: its answer, the words to click, sentences on the
open head's row, and how the answer changes with a region hidden or the head silenced."""
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core import heads, pictures
from clearhead.model.core.picture_rows import answer_start, visual_sinks
from clearhead.model.core.query import Query, Silence, UserError, isolated
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.tokens import PATCH, SPECIAL, Tokens
from clearhead.model.core.view import View
from clearhead.model.studies.predictions import ContinuationQuery, NextWordQuery, distribution
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept, session
from clearhead.viz.app.state import complete_view
from clearhead.viz.components.from_record import patch_name, row_name
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.style.format import token_label
from clearhead.viz.style.numbers import format_weight
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.layout import flex_row, heading, note

WORDS = strings("answers")

WRITES = 20     # most tokens that a model writes before it is asked to go on
COMPARED = 8    # most tokens of two answers that are compared
NAMED = 3       # most words and patches in a sentence
LITTLE = 1 / 8  # share of the picture's width below which a patch is small
SMALL = 220     # width in pixels of an edited picture

_STOPPED = Kept[Query | None](None)   # the question whose answer was stopped
# the last question that was asked again: the record's query, the changed one, and the change in words
_AGAIN = Kept[tuple[Query, Query, str] | None](None)


def write(page: PageContext) -> None:
    """Let a model that reads pictures with questions write its answer, unless it has or was stopped."""
    if page.state.image is None or page.state.continuation or "prompt" not in sources.locate(page.model).reads:
        return
    query, place = page.query(), st.empty()
    try:
        with place.container(), flex_row("center", gap="small"):
            stopped = _STOPPED.value == query
            st.caption(WORDS("writing", most=WRITES), width="content")
            st.button(WORDS["write" if stopped else "stop"], key="answer-stop", on_click=_STOPPED.put,
                      args=(None if stopped else query,))
            if stopped:
                return
            page.correct(continuation=page.ask(ContinuationQuery(query, WRITES), height=0))
    except UserError:
        place.empty()
        raise
    place.empty()


def words(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the question and the answer as a strip, with one element for all from the first to the last token of the
    picture. A word of the answer is the row that writes it."""
    tokens, start = record[view.kind].queries, answer_start(record, record[view.kind])
    own = tokens.of_picture or (-1,)
    shown = [token for token in range(len(tokens)) if not own[0] < token <= own[-1]]
    rows = [token - (token >= start) for token in shown]
    texts = tuple(f"{PATCH} × {len(own)}" if token == own[0] else tokens.texts[token] for token in shown)
    here = own[0] if view.token in tokens.of_picture else view.token
    # the last token of the prompt and the first of the answer are one row
    focus = max((place for place, row in enumerate(rows) if row == here), default=None)
    choose = chosen(page, record)
    token_strip(replace(tokens.only(shown), texts=texts), focus=focus, pairs=False, key="strip",
                on_event=lambda event: choose(row=None if event.token is None else rows[event.token]))


def chosen(page: PageContext, record: AttentionRecord) -> Callable[..., None]:
    """Return choose(row=…) or choose(patch=…), which puts one into focus beside the other's last choice; None for
    neither."""
    def choose(**new: int | None) -> None:
        view = complete_view(page.state, record)
        row, patch = ({"row": view.token, "patch": view.pair and view.pair[1]} | new).values()
        page.set(head=view.head_id, token=row, pair=None if row is None or patch is None else (row, patch))

    return choose


def claims(record: AttentionRecord, view: View) -> list[str]:
    """Return Markdown sentences on the open head's row in focus, and on the words that look at the chosen patch."""
    attention_map, token = record[view.kind], view.token or 0
    keys, weights = attention_map.keys, heads.weights(attention_map.layer(view.layer), view.head).astype(np.float64)
    name = lambda key: escape_markdown(isolated(patch_name(keys, key)))
    most = max(keys.patches, key=lambda patch: weights[token, patch])
    said = [WORDS("most", head=view.head_id, to=name(most), weight=weights[token, most],
                  word=escape_markdown(row_name(record, attention_map, token)),
                  share=weights[token, list(keys.patches)].sum())]
    if view.pair is not None:
        looking = [query for query in np.argsort(-weights[:, view.pair[1]], kind="stable").tolist()
                   if query not in attention_map.queries.of_picture]
        said.append(WORDS("at", to=name(view.pair[1]), list=", ".join(
            f"{token_label(attention_map.queries, query)} **{format_weight(weights[query, view.pair[1]])}**"
            for query in looking[:NAMED])))
    sinks = np.flatnonzero(visual_sinks(attention_map, attention_map.layer(view.layer), view.head)).tolist()
    if sinks:
        said.append(WORDS("left_out" if view.hide_sinks else "sinks", list=", ".join(map(name, sinks[:NAMED])),
                          more=max(0, len(sinks) - NAMED)))
    return said


def looked_at(keys: Tokens, weights: np.ndarray) -> list[int]:
    """Return the fewest patches that together have half of a row's weight on the picture. weights: (key)."""
    order = sorted(keys.patches, key=lambda patch: -weights[patch])
    sums = np.cumsum(weights[order])
    return order[:int(np.searchsorted(sums, sums[-1] / 2)) + 1]


def what_if(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the buttons that ask again, and how the answer changed."""
    attention_map, plain = record[view.kind], replace(record.query, continuation=())
    keys = attention_map.keys
    patches = [view.pair[1]] if view.pair and keys.boxes[view.pair[1]] else []
    label = WORDS("patch", patch=patch_name(keys, patches[0])) if patches else ""
    if not patches:
        patches = looked_at(keys, heads.row_weights(attention_map.layer(view.layer), view.token or 0)[view.head])
        label = WORDS("half", count=len(patches))
    boxes = [box for patch in patches if (box := keys.boxes[patch])]
    # a single small patch is hidden with as much again on every side
    margin = int(len(boxes) == 1 and boxes[0].right - boxes[0].left < LITTLE)

    def hide() -> None:
        picture = pictures.find(record.query.image or "")
        edited = pictures.keep(pictures.greyed(picture, boxes, margin), picture.name, session().id)
        _AGAIN.put((record.query, replace(plain, image=edited.sha256), label))

    silenced = replace(plain, edits=frozenset({Silence(view.kind, *view.head_id)}))
    with flex_row("center", gap="small", key="heads-what-if"):
        heading(strings("heads")["what_if"], width="content")
        st.button(label, key="ask-hidden", icon=":material/visibility_off:", on_click=hide)
        if record.verification.status in ("verified", "computed"):
            st.button(WORDS["silence"], key="ask-silenced", icon=":material/volume_off:", on_click=_AGAIN.put, args=(
                (record.query, silenced, WORDS("silenced", head=view.head_id)),))
    if _AGAIN.value is not None and _AGAIN.value[0] == record.query and record.query.continuation:
        _changed(page, *_AGAIN.value)


def _changed(page: PageContext, asked: Query, edited: Query, change: str) -> None:
    """Draw the answer before and after a change, with the probability of both."""
    ids = asked.continuation[:COMPARED]
    old, before, _ = _answer(page, replace(asked, continuation=()), ids)
    _, now, _ = _answer(page, edited, ids)
    new, after, written = _answer(page, edited, (), len(ids))
    with flex_row("top", key="heads-changed"):
        if edited.image != asked.image:
            st.image(pictures.find(edited.image or "").encoded, width=SMALL)
        with st.container():
            st.markdown(WORDS("same" if written == ids else "other", change=change, old=escape_markdown(old),
                              new=escape_markdown(new), before=before, now=now, after=after))
            note(WORDS["caution"])


def _answer(page: PageContext, query: Query, ids: tuple[int, ...], most: int = 0) -> tuple[str, float, tuple[int, ...]]:
    """Return an answer's text and probability, the product of those of its tokens, and its ids: these, or the most
    probable ones, at most `most`. Each token is a pass, shared by answers that start in the same way."""
    texts, share, done = "", 1.0, tuple[int, ...]()
    while len(done) < (most or len(ids)):
        word = page.ask(NextWordQuery(replace(query, continuation=done)), height=0)
        number = word.ids[0] if most else ids[len(done)]
        share, done = share * float(distribution(word.logits)[number]), (*done, number)
        text = word.texts[word.ids.index(number)] if number in word.ids else "…"
        texts += "" if SPECIAL.fullmatch(text) else text
        if most and number in word.ends:
            break
    return texts.strip(), share, done
