"""What Heads shows of a translator, besides its heads: its words one after another, and where it decides between il
and elle."""
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, KindHeadId, head_label
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import View
from clearhead.model.lessons.pronoun_choice import Decision, DecisionQuery, DecisionSet, DecisionSetQuery
from clearhead.model.sources import open_query
from clearhead.model.studies.predictions import PRONOUNS, pronoun_of, rows_by_produced_token
from clearhead.viz.app.page import PageContext
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import token_markdown
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import bind, button_setting
from clearhead.viz.widgets.fragment import PLAYING, pause, says_why
from clearhead.viz.widgets.layout import bullets, flex_row, heading, prose, split
from clearhead.viz.widgets.part import Part

WORDS = strings("translate")

OURS = "translator"
MOST_ANSWERS = 8     # words in the chart of probabilities
PAIRS = 100          # pairs of twins in the test set
LEAST = 0.01         # smallest change of a probability that is named, as in the text `least`


def words(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the twin sentences of our translator, the steps through the translation, and what each head looked at to
    write the word in focus."""
    if (swap := _swap(page)) is not None:
        _twins(page, swap)
    kind = Kind.CROSS if view.kind is Kind.SELF else view.kind
    # the rows of the encoder are no words that it writes
    written = rows_by_produced_token(page.record(), kind)
    pronoun = pronoun_of(written.queries)
    word = view.token if view.kind is kind and view.token is not None else pronoun or 0
    _steps(page, view, kind, word, len(written.queries))
    left, right = split(6, 5, gap="large")
    with left:
        _head_rows(page, written, word)
    with right:
        _probabilities(page, record, word)


def _swap(page: PageContext) -> "desk.Swap | None":
    """Return the adjectives that our translator's sentence can have, if it is of this kind."""
    return desk.swap(page.text) if page.model == OURS else None


def _twins(page: PageContext, swap: "desk.Swap") -> None:
    """Draw the choice of adjectives, and the twins' translations below each other."""
    prose(WORDS["lead"])
    records = page.record(), page.ask(open_query(page.model, swap.twin))
    for role, adjectives in enumerate(swap.adjectives):
        st.pills(WORDS("role", noun=swap.nouns[role]), adjectives, wrap=True, **bind(
            lambda text: page.set(text=swap.with_adjective(text)), "text",
            swap.adjective if role == swap.role else None, f"adjective-{role}", "default"))
    translated = [rows_by_produced_token(each, Kind.CROSS).queries for each in records]
    st.markdown(bullets(f"{WORDS[label]}: {escape_markdown(text)} → {_french(tokens)}" for label, text, tokens in zip(
        ("this", "twin"), (swap.text, swap.twin), translated, strict=True)))
    pronouns = {None if (place := pronoun_of(tokens)) is None else tokens.texts[place].lower() for tokens in translated}
    if len(pronouns) == 1 and page.state.target is None:
        st.caption(WORDS["same"])


def _french(tokens: Tokens) -> str:
    """Return the translation as text with its pronoun in bold."""
    pronoun, text = pronoun_of(tokens), ""
    for place, word in enumerate(tokens.texts):
        if not tokens.special[place]:
            tight = not text or text.endswith("'") or word in (".", ",")
            text += ("" if tight else " ") + (f":primary[**{escape_markdown(word)}**]" if place == pronoun
                                              else escape_markdown(word).replace("\\'", "'"))
    return text


def _steps(page: PageContext, view: View, kind: Kind, word: int, count: int) -> None:
    """Draw the buttons that step through the words of the translation, or play it."""
    here: dict[str, Any] = {"kind": kind} | ({"head": view.head_id} if view.kind is kind else {})
    with flex_row():
        if word > 0:
            button_setting(page, WORDS["back"], "word-back", **here, token=word - 1)
        if word + 1 < count:
            button_setting(page, WORDS["forward"], "word-forward", **here, token=word + 1)
        if st.button(WORDS["pause" if PLAYING.value else "play"], key="word-play", icon=":material/play_arrow:"):
            PLAYING.value = not PLAYING.value
            if PLAYING.value:
                page.set(**here, token=0, written=True, stepping=True)
            st.rerun()
        if page["stepping"]:
            button_setting(page, WORDS["all"], "word-all", stepping=False)


def next_word(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Advance a playing translation by one word, or stop at its end."""
    if (view.token or 0) + 1 < len(record[view.kind].queries):
        page.set(head=view.head_id, token=(view.token or 0) + 1, passing=True)
    else:
        pause()


def _head_rows(page: PageContext, written: AttentionMap, word: int) -> None:
    """Draw each head's row for this word."""
    rows = {head_label(layer.index, head): weights for layer in written.layers
            for head, weights in enumerate(heads.row_weights(layer, word))}
    weights, keys = np.stack(list(rows.values())), list(written.keys.texts)
    most, key = np.unravel_index(weights.argmax(), weights.shape)
    said = written.queries.texts[word]
    words = Part(page, WORDS, word=said, head=list(rows)[most], heads=len(rows), keys=len(keys),
                 weight=weights[most, key], key=keys[key], axis=WORDS["heads_axis"][written.kind.base.value])
    heading(words("heads_title", word=escape_markdown(said)), help=words("heads_help", word=escape_markdown(said)))
    words.figure(matrix, weights, list(rows), keys, height=110 + 26 * len(rows), style=CellStyle(square=False),
                 key="translate-heads", kind="heads")
    st.markdown(words("largest", key=token_markdown(keys[key])))


def _probabilities(page: PageContext, record: AttentionRecord, word: int) -> None:
    """Draw the decoder's probabilities for this word."""
    prediction = record.prediction
    if prediction is None or word not in prediction.positions:
        return
    place = prediction.positions.index(word)
    texts, shares = prediction.texts[place][:MOST_ANSWERS], np.array(prediction.probabilities[place][:MOST_ANSWERS])
    words = Part(page, WORDS, first=texts[0], p=shares[0], rest=", ".join(
        f"{text} {share:z.3f}" for text, share in zip(texts[1:4], shares[1:4])))
    heading(words["chances_title"])
    words.figure(bars, texts, {words["chances"]: shares}, y_range=(0, 1), height=240, key="translate-chances",
                 kind="chances")


@says_why
def decide(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the choice between il and elle, or say that the model or sentence has none."""
    swap = _swap(page)
    decision = page.ask(DecisionQuery(page.model, page.revision, page.text, swap.twin if swap else ""))
    words = Part(page, WORDS["decide"], decision=decision, other=other_pronoun(decision), n=2 * PAIRS)
    prose(words("lead"))
    left, right = split(gap="large")
    with left:
        _silenced(words, decision)
    with right:
        if len(decision.patched):
            _patched(words, decision)
    prose(bullets(decision_claims(words, decision, page["mode"])))
    if words.toggle("set"):
        _set(words, page.ask(DecisionSetQuery(page.model, page.revision, PAIRS)))


def _silenced(words: Part, decision: Decision) -> None:
    """Draw the change of the pronoun's probability by layer and head, with a column for whole layers."""
    alone = decision.zero if words.choice("mode", "modes") == "zero" else decision.mean
    change = alone.reshape(len(decision.layers), -1) - decision.share
    most = np.abs(change).argmax()
    heading(words("change"))
    words.tell(heads=change.size, change=change.flat[most], head=head_name(decision.heads[most]))
    words.figure(matrix, np.column_stack([change, decision.whole - decision.share]),
                 [layer_name(*layer) for layer in decision.layers], [*range(change.shape[1]), words["all"]], height=330,
                 style=CellStyle("signed", bound=1.0, square=False), key="translate-silenced")


def _patched(words: Part, decision: Decision) -> None:
    """Draw the pronoun's probability when the encoder's output at one word is patched from the twin."""
    moved = 1 - decision.patched
    heading(words["patch"])
    st.caption(words["patch_lead"])
    words.tell(moved=moved.max(), word=decision.source[moved.argmax()])
    words.figure(bars, decision.source, {words["axes_patch"][1].format(**words.facts): moved}, y_range=(0, 1),
                 height=330, key="translate-exchanged", kind="patch")


def _set(words: Part, decisions: DecisionSet) -> None:
    names = [words["set_words"][name] for name in decisions.moved]
    words.tell(numbers=", ".join(f"{name} {share:.0%}" for name, share in zip(names, decisions.moved.values())))
    left, right = split(gap="large")
    with left:
        heading(words["set_title"])
        words.figure(bars, names, {words["axes_set"][1]: list(decisions.moved.values())}, y_range=(0, 1.02),
                     height=330, key="translate-set", kind="set")
    right.markdown("\n\n".join(set_claims(words, decisions)))


def layer_name(kind: Kind, layer: int | str) -> str:
    """Return a layer's name on the page."""
    return WORDS["decide"]["rows"](kind.value, layer=layer)


def other_pronoun(decision: Decision) -> str:
    """Return the pronoun that was not chosen."""
    return next(pronoun for pronoun in PRONOUNS if pronoun != decision.said)


def head_name(head: KindHeadId) -> str:
    """Return a head's name on the page: its layer's name and its number."""
    return layer_name(head[0], head_label(*head[1:]))


def decision_claims(words: Part, decision: Decision, mode: str) -> list[str]:
    """Return Markdown sentences on the answer, and the head, layer and word that change it most."""
    alone = decision.zero if mode == "zero" else decision.mean
    head, layer = (np.abs(shares - decision.share).argmax() for shares in (alone, decision.whole))
    words.tell(head=head_name(decision.heads[head]), by_head=alone[head], layer=layer_name(*decision.layers[layer]),
               by_layer=decision.whole[layer])
    names = ["plain", *(["plain_twin"] if decision.twin is not None else []),
             "most" if abs(alone[head] - decision.share) > LEAST else "least", "layer"]
    if len(decision.patched):
        moved = 1 - decision.patched
        most, it = moved.argmax(), [place for place, text in enumerate(decision.source) if text.lower() == "it"]
        words.tell(word=escape_markdown(decision.source[most]), by_word=moved[most], unmoved=1 - decision.share,
                   by_it=moved[it[-1]] if it else 0.0)
        names.append("moved")
    return list(map(words, names))


def set_claims(words: Part, decisions: DecisionSet) -> list[str]:
    """Return Markdown sentences on many test sentences, ending with the comparison to the resolver."""
    alone = {name: share for name, share in decisions.moved.items() if name not in ("it", "both nouns", "everything")}
    most = max(alone, key=alone.__getitem__)
    points = {kind.value: found for kind, found in decisions.points.items()}
    return [words("set_points", **points),
            words("set_moved", moved=decisions.moved, most=words["set_words"][most], share=alone[most]),
            words["contrast"]]
