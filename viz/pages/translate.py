"""The page on translation: what a decoder attends to when it writes each word, and where it decides between il and
elle."""
from dataclasses import fields, replace
from functools import partial

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.query import Kind, KindHeadId, with_arrays
from clearhead.model.core.record import AttentionMap, AttentionRecord, Tokens
from clearhead.model.core.view import View, displayed_head
from clearhead.model.lessons.pronoun_choice import Decision, DecisionQuery, DecisionSet, DecisionSetQuery
from clearhead.model.studies.predictions import PRONOUNS, pronoun_of, rows_by_produced_token
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Switch, Words, position
from clearhead.viz.components.component import Selection
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import format_share, head_label, token_markdown
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import bind, button_setting, choice_for, select, toggle_for
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import PLAYING, folded_formula, pause, repeat, says_why
from clearhead.viz.widgets.handout_button import picture_button
from clearhead.viz.widgets.layout import bullets, flex_row, heading, opening, prose, split
from clearhead.viz.widgets.vocabulary import vocabulary

WORDS = strings("translate")

OURS = "translator"
WORD_SECONDS = 0.7   # seconds per word while playing
MOST_ANSWERS = 8     # words in the chart of probabilities
PAIRS = 100          # pairs of twins in the test set
PAGE = Page("record", controls=(
    position("word", 10**4), Switch("stepping"), Choice("side", "cross", ("cross", "causal")),
    Words("open", "", 12),
    Choice("mode", "zero", ("zero", "mean")), Switch("set")), answers=lambda offer: offer.translates)


@with_arrays
class WordView:
    """A translation and its selected word, row `word` of `shown`. Each row is named by the word it produces."""

    record: AttentionRecord
    shown: AttentionMap
    word: int

    @property
    def rows(self) -> list[tuple[tuple[int, int], np.ndarray]]:
        """Return ((layer, head), weights on the keys) for this word, in model order."""
        return [((layer.index, head), weight) for layer in self.shown.layers
                for head, weight in enumerate(heads.row_weights(layer, self.word))]

    @property
    def largest(self) -> tuple[tuple[int, int], int, float]:
        """Return the (layer, head), key and value of the largest weight."""
        place, weights = max(self.rows, key=lambda row: row[1].max())
        return place, int(weights.argmax()), float(weights.max())


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("translate")
    state, offers = page.state, sources.catalogue()
    # use the sidebar's model if it translates or its type is unknown, else our own
    model = state.model if state.model not in offers or offers[state.model].translates else OURS
    record: AttentionRecord = page.ask(page.query(model=model))
    if Kind.CROSS not in record.kinds:
        model, record = OURS, page.ask(page.query(model=OURS))
    if model != state.model:
        st.caption(words("another", model=escape_markdown(sources.title_of(state.model)),
                         ours=escape_markdown(record.card.title)))
    swap = desk.swap(state.text) if model == OURS else None
    if swap is not None:
        _twins(page, model, swap, record)
    now = selected_word(page, record)
    _sentences(page, now)
    left, right = split(6, 5, gap="large")
    with left:
        _head_rows(page, now)
        _probabilities(now)
    with right:
        _open_head(page, now)
    _decision(page, model, state.text, "" if swap is None else swap.twin)
    vocabulary(model, record.card.title, lambda text: page.set(text=text))
    folded_formula(words["source"], lambda: (rows_by_produced_token,), key="translate-formula")
    if PLAYING.value:
        repeat(WORD_SECONDS, partial(_next, page, now))


def _twins(page: PageContext, model: str, swap: desk.Swap, record: AttentionRecord) -> None:
    """Draw the choice of adjectives, and the twins' translations below each other."""
    other: AttentionRecord = page.ask(sources.open_query(model, swap.twin))

    for role, adjectives in enumerate(swap.adjectives):
        st.pills(WORDS("role", noun=swap.nouns[role]), adjectives, wrap=True, **bind(
            lambda text: page.set(text=swap.with_adjective(text)), "text",
            swap.adjective if role == swap.role else None, f"adjective-{role}"))
    lines = [(WORDS["this"], swap.text, record), (WORDS["twin"], swap.twin, other)]
    with st.container(key="aside-twins"):   # presenting shows only the strips
        st.markdown("\n".join(f"- {label}: {escape_markdown(text)} → {_french(translated)}"
                              for label, text, translated in lines))
    said = [translated[Kind.CROSS].queries for _, _, translated in lines]
    pronouns = {None if (place := pronoun_of(tokens)) is None else tokens.texts[place].lower() for tokens in said}
    if len(pronouns) == 1 and page.state.target is None:
        st.caption(WORDS["same"])


def _french(record: AttentionRecord) -> str:
    """Return the translation as text with its pronoun in bold."""
    tokens: Tokens = record[Kind.CROSS].queries
    pronoun, text = pronoun_of(tokens), ""
    for place, word in enumerate(tokens.texts):
        if not tokens.special[place]:
            tight = not text or text.endswith("'") or word in (".", ",")
            text += ("" if tight else " ") + (f":primary[**{escape_markdown(word)}**]" if place == pronoun
                                              else escape_markdown(word).replace("\\'", "'"))
    return text


def _next(page: PageContext, now: WordView) -> None:
    """Advance a playing translation by one word."""
    if now.word + 1 >= len(now.shown.queries):
        pause()
    else:
        page.set(word=now.word + 1, passing=True)


def selected_word(page: PageContext, record: AttentionRecord) -> WordView:
    """Return the selected word, by default the pronoun, or the first word if there is none."""
    shown = rows_by_produced_token(record, Kind(page["side"]))
    pronoun = pronoun_of(shown.queries)
    chosen = page["word"]
    if not 0 <= chosen < len(shown.queries):
        chosen = 0 if pronoun is None else pronoun
    return WordView(record, shown, chosen)


def _sentences(page: PageContext, now: WordView) -> None:
    """Draw the source sentence, the translation as far as it is written, and the controls that step through its
    words."""
    tokens = now.shown.queries

    def play() -> None:
        PLAYING.value = True
        page.set(word=0, stepping=True)

    st.caption(WORDS["reads"])
    token_strip(now.record[Kind.CROSS].keys, pairs=False, key="translate_source")
    st.caption(f"{WORDS['written']} · {WORDS['words']}")
    until = now.word + 1 if page["stepping"] else len(tokens)
    written = Tokens(**{field.name: getattr(tokens, field.name)[:until] for field in fields(Tokens)})
    token_strip(written, focus=now.word, pairs=False, key="translate_target",
                on_event=lambda event: _choose_word(page, event))
    with flex_row():
        if now.word > 0:
            button_setting(page, WORDS["back"], "word-back", word=now.word - 1)
        if now.word + 1 < len(tokens):
            button_setting(page, WORDS["forward"], "word-forward", word=now.word + 1)
        if PLAYING.value:
            st.button(WORDS["pause"], key="word-pause", on_click=pause)
        else:
            st.button(WORDS["play"], key="word-play", icon=":material/play_arrow:", on_click=play)
        if page["stepping"]:
            button_setting(page, WORDS["all"], "word-all", stepping=False, word=-1)


def _choose_word(page: PageContext, event: Selection) -> None:
    if event.token is not None:
        page.set(word=event.token)


def _head_rows(page: PageContext, now: WordView) -> None:
    """Draw each head's row for this word, and the open head over all words."""
    place = now.largest
    names, keys = [head_label(layer, head)
                   for (layer, head), _ in now.rows], list(now.shown.keys.texts)
    weights = np.stack([weights for _, weights in now.rows])
    word, side = escape_markdown(now.shown.queries.texts[now.word]), page["side"]
    choice_for(page, "side", WORDS["side"], WORDS["sides"])
    heading(WORDS("heads_title", word=word), help=WORDS("heads_help", word=word))
    figure(matrix, weights, names, keys, axes=(WORDS["heads_axis"][side], WORDS["heads_rows"]),
           height=110 + 26 * len(names), style=CellStyle(square=False), key="translate-heads",
           alt=WORDS("heads_alt", heads=len(names), keys=len(keys), weight=place[2], key=keys[place[1]],
                     word=now.shown.queries.texts[now.word], head=head_label(*place[0])))
    st.markdown(WORDS("largest", head=head_label(*place[0]), weight=place[2],
                      key=token_markdown(now.shown.keys.texts[place[1]])))


def _open_head(page: PageContext, now: WordView) -> None:
    """Draw one head over all words of the translation."""
    kind = now.shown.kind
    layer, head = open_head_id(page, now)
    options = {f"{place[0]}.{place[1]}": head_label(*place) for place, _ in now.rows}
    with flex_row("bottom"):
        heading(WORDS("open_head", layer=layer, head=head), help=WORDS["open_help"], width="content")
        select(WORDS["heads_rows"], options, page.set, "open", f"{layer}.{head}", quiet=True, width=110)
    view = View(kind, layer, head, now.word)
    record = replace(now.record, maps=(now.shown,))
    drawn = head_view(displayed_head(record, view), view, height=430, key="translate_head",
                      on_event=lambda event: _choose_word(page, event))
    picture_button(drawn, (record,))


def open_head_id(page: PageContext, now: WordView) -> tuple[int, int]:
    """Return the chosen head, by default the one with the largest weight for this word."""
    parts = page["open"].split(".")
    if len(parts) == 2 and all(part.isdecimal() for part in parts) and now.shown.has(int(parts[0]), int(parts[1])):
        return int(parts[0]), int(parts[1])
    return now.largest[0]


def _probabilities(now: WordView) -> None:
    """Draw the decoder's probabilities for this word."""
    prediction = now.record.prediction
    if prediction is None or now.word not in prediction.positions:
        return
    place = prediction.positions.index(now.word)
    texts, shares = prediction.texts[place][:MOST_ANSWERS], np.array(prediction.probabilities[place][:MOST_ANSWERS])
    heading(WORDS["chances_title"])
    rest = ", ".join(f"{text} {share:z.3f}" for text, share in zip(texts[1:4], shares[1:4]))
    figure(bars, texts, {WORDS["chances"]: shares}, axes=("", WORDS["chances"]), y_range=(0, 1), height=240,
           key="translate-chances", alt=WORDS("chances_alt", first=texts[0], p=shares[0], rest=rest))


@says_why
def _decision(page: PageContext, model: str, text: str, twin: str) -> None:
    """Draw the section on the choice between il and elle, or say that the model or sentence has none."""
    words = WORDS["decide"]
    heading(words["title"], 3)
    revision = sources.revision(model)
    decision: Decision = page.ask(DecisionQuery(model, revision, text, twin))
    prose(words("lead", said=decision.said))
    left, right = split(gap="large")
    with left:
        _silenced(page, decision)
    with right:
        if len(decision.patched):
            _patched(decision)
    prose(bullets(decision_claims(decision, page["mode"])))
    if toggle_for(page, "set", words("set", n=2 * PAIRS)):
        _set(page.ask(DecisionSetQuery(model, revision, PAIRS)))


def _silenced(page: PageContext, decision: Decision) -> None:
    """Draw the change of the pronoun's probability by layer and head, with a column for whole layers."""
    words, mode = WORDS["decide"], page["mode"]
    change = (decision.zero if mode == "zero" else decision.mean).reshape(len(decision.layers), -1) - decision.share
    numbers = np.column_stack([change, decision.whole - decision.share])
    columns = [*range(change.shape[1]), words["all"]]
    most = int(np.abs(change).argmax())
    choice_for(page, "mode", words["mode"], words["modes"])
    heading(words("change", said=decision.said))
    figure(matrix, numbers, [layer_name(*layer) for layer in decision.layers], columns, axes=(words["axis"], ""),
           height=330, style=CellStyle("signed", bound=1.0, square=False), key="translate-silenced",
           alt=words("change_alt", said=decision.said, heads=change.size, change=change.flat[most],
                     head=head_name(decision.heads[most])))


def _patched(decision: Decision) -> None:
    """Draw the pronoun's probability when the encoder's output at one word is patched from the twin."""
    words, other = WORDS["decide"], other_pronoun(decision)
    moved, most = 1 - decision.patched, int((1 - decision.patched).argmax())
    heading(words["patch"])
    st.caption(words["patch_lead"])
    axis = words("patch_axis", other=other)
    figure(bars, decision.source, {axis: moved}, axes=("", axis), y_range=(0, 1), height=330, key="translate-exchanged",
           alt=words("patch_alt", other=other, share=moved[most], word=decision.source[most]))


def _set(decisions: DecisionSet) -> None:
    words = WORDS["decide"]
    names = [words["set_words"][name] for name in decisions.moved]
    numbers = ", ".join(f"{name} {format_share(share, 0)}" for name, share in zip(names, decisions.moved.values()))
    left, right = split(gap="large")
    with left:
        heading(words["set_title"])
        figure(bars, names, {words["set_axis"]: np.array(list(decisions.moved.values()))}, axes=("", words["set_axis"]),
               y_range=(0, 1.02), height=330, key="translate-set", alt=words("set_alt", numbers=numbers))
    right.markdown("\n\n".join(set_claims(decisions)))


def layer_name(kind: Kind, layer: int | str) -> str:
    """Return a layer's name on the page."""
    return WORDS["decide"]["rows"](kind.value, layer=layer)


def other_pronoun(decision: Decision) -> str:
    """Return the pronoun that was not chosen."""
    return next(pronoun for pronoun in PRONOUNS if pronoun != decision.said)


def head_name(head: KindHeadId) -> str:
    """Return a head's name on the page: its layer's name and its number."""
    return layer_name(head[0], head_label(*head[1:]))


def decision_claims(decision: Decision, mode: str) -> list[str]:
    """Return Markdown sentences on the answer, and the head, layer and word that change it most."""
    words, alone = WORDS["decide"], decision.zero if mode == "zero" else decision.mean
    head, layer = (int(np.abs(shares - decision.share).argmax()) for shares in (alone, decision.whole))
    facts = {"said": decision.said, "share": decision.share, "other": other_pronoun(decision), "twin": decision.twin,
             "head": head_name(decision.heads[head]), "by_head": float(alone[head]),
             "layer": layer_name(*decision.layers[layer]), "by_layer": float(decision.whole[layer])}
    names = ["plain", *(["plain_twin"] if decision.twin is not None else []), "most", "layer"]
    if len(decision.patched):
        moved = 1 - decision.patched
        most, it = int(moved.argmax()), [place for place, text in enumerate(decision.source) if text.lower() == "it"]
        facts |= {"word": escape_markdown(decision.source[most]), "by_word": float(moved[most]),
                  "unmoved": 1 - decision.share, "by_it": float(moved[it[-1]]) if it else 0.0}
        names.append("moved")
    return [words(name, **facts) for name in names]


def set_claims(decisions: DecisionSet) -> list[str]:
    """Return Markdown sentences on many test sentences, ending with the comparison to the resolver."""
    words = WORDS["decide"]
    facts: dict[str, object] = {}
    for kind, (head, share, mass) in decisions.points.items():
        facts |= {kind.value: share, f"{kind.value}_head": head_label(*head[1:]), f"{kind.value}_mass": mass}
    alone = {name: share for name, share in decisions.moved.items() if name not in ("it", "both nouns", "everything")}
    most = max(alone, key=lambda name: alone[name])
    return [words("set_points", **facts),
            words("set_moved", it=decisions.moved["it"], most=words["set_words"][most], share=alone[most]),
            words["contrast"]]
