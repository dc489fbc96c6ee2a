"""One word of a translation: what every head looked at when it was produced, and what else could have been said."""
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from model.core import heads
from model.core.query import Kind
from model.core.record import AttentionMap, AttentionRecord, Tokens
from model.core.view import View, displayed_head
from model.studies.predictions import pronoun_of, rows_by_produced_token
from viz.components.head_view import ViewEvent, head_view
from viz.components.token_strip import StripEvent
from viz.figures.bars import bars
from viz.figures.matrix import CellStyle, matrix
from viz.format import head_label, token_markdown
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.widgets.control_widgets import button_setting, choice_for
from viz.widgets.figure import figure
from viz.widgets.fragment import PLAYING, pause
from viz.widgets.handout_button import picture_button
from viz.widgets.sentence_strip import sentence_strip

MOST_ANSWERS = 8   # words of the chart


@dataclass(frozen=True, eq=False)
class WordView:
    """A translation and the word of it that is looked at: row `word` of `shown`, a map whose rows are named by what
    they produced."""

    record: AttentionRecord
    shown: AttentionMap
    word: int

    @property
    def text(self) -> str:
        """The word itself."""
        return self.shown.queries.texts[self.word]

    @property
    def rows(self) -> list[tuple[tuple[int, int], np.ndarray]]:
        """((layer, head), weights over the keys) of this word, in the model's order."""
        return [((layer.index, head), weight) for layer in self.shown.layers
                for head, weight in enumerate(heads.row_weights(layer, self.word))]

    @property
    def largest(self) -> tuple[tuple[int, int], int, float]:
        """(layer, head), key and weight of the largest weight."""
        place, weights = max(self.rows, key=lambda row: row[1].max())
        return place, int(weights.argmax()), float(weights.max())


def selected_word(page: PageContext, record: AttentionRecord) -> WordView:
    """The word that was chosen; without a choice the pronoun, or the first word."""
    shown = rows_by_produced_token(record, Kind(page.controls["side"]))
    pronoun = pronoun_of(shown.queries)
    chosen = page.controls["word"]
    if not 0 <= chosen < len(shown.queries):
        chosen = 0 if pronoun is None else pronoun
    return WordView(record, shown, chosen)


def sentence_strips(page: PageContext, now: WordView) -> None:
    """The two sentences, the French one as far as it is written, and the way from word to word."""
    words, tokens = strings("translate"), now.shown.queries
    st.caption(words["reads"])
    sentence_strip(now.record[Kind.CROSS].keys, pairs=False, key="translate_source")
    st.caption(f"{words['written']} · {words['words']}")
    until = now.word + 1 if page.controls["stepping"] else len(tokens)
    sentence_strip(_first(tokens, until), focus=now.word, pairs=False, key="translate_target",
                   on_event=lambda event: _choose_word(page, event))
    with st.container(horizontal=True):
        if now.word > 0:
            button_setting(page, words["back"], "word-back", word=now.word - 1)
        if now.word + 1 < len(tokens):
            button_setting(page, words["forward"], "word-forward", word=now.word + 1)
        if PLAYING.value:
            st.button(words["pause"], key="word-pause", on_click=pause)
        else:
            st.button(words["play"], key="word-play", icon=":material/play_arrow:", on_click=_play, args=(page,))
        if page.controls["stepping"]:
            button_setting(page, words["all"], "word-all", stepping=False, word=-1)


def _choose_word(page: PageContext, event: StripEvent | ViewEvent) -> None:
    if event.token is not None:
        page.set(word=event.token)


def _play(page: PageContext) -> None:
    PLAYING.value = True
    page.set(word=0, stepping=True)


def _first(tokens: Tokens, count: int) -> Tokens:
    return Tokens(**{name: getattr(tokens, name)[:count] for name in Tokens.__dataclass_fields__})


def head_rows(page: PageContext, now: WordView) -> None:
    """Every head's row for this word, and the open head over all words."""
    words, place = strings("translate"), now.largest
    names, keys = [head_label(layer, head)
                   for (layer, head), _ in now.rows], list(now.shown.keys.texts)
    weights = np.stack([weights for _, weights in now.rows])
    word, side = escape_markdown(now.text), page.controls["side"]
    choice_for(page, "side", words["side"], words["sides"])
    st.markdown(f"##### {words['heads_title'].format(word=word)}", help=words["heads_help"].format(word=word))
    figure(lambda theme: matrix(theme, weights, names, keys, axes=(words["heads_axis"][side], words["heads_rows"]),
                                height=110 + 26 * len(names), style=CellStyle(square=False)),
           key="translate-heads",
           alt=words["heads_alt"].format(heads=len(names), keys=len(keys), word=now.text, weight=place[2],
                                         head=head_label(*place[0]), key=now.shown.keys.texts[place[1]]))
    st.markdown(words["largest"].format(head=head_label(*place[0]), weight=place[2],
                                        key=token_markdown(now.shown.keys.texts[place[1]])))


def open_head(page: PageContext, now: WordView) -> None:
    """One head over all words that were produced."""
    words, kind = strings("translate"), now.shown.kind
    layer, head = open_head_id(page, now)
    options = {f"{place[0]}.{place[1]}": head_label(*place) for place, _ in now.rows}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"##### {words['open_head'].format(layer=layer, head=head)}", help=words["open_help"],
                    width="content")
        key = "view_open"
        st.session_state[key] = f"{layer}.{head}"
        st.selectbox(words["heads_rows"], list(options), format_func=options.__getitem__, key=key,
                     label_visibility="collapsed", width=110,
                     on_change=lambda: page.set(open=st.session_state[key]))
    view = View(kind, layer, head, now.word)
    record = replace(now.record, maps=(now.shown,))
    drawn = head_view(displayed_head(record, view), view, height=430, key="translate_head",
                      on_event=lambda event: _choose_word(page, event))
    picture_button(drawn, (record,))


def open_head_id(page: PageContext, now: WordView) -> tuple[int, int]:
    """The head that was chosen; without a choice the one with the largest weight for this word."""
    parts = page.controls["open"].split(".")
    if len(parts) == 2 and all(part.isdecimal() for part in parts) and now.shown.has(int(parts[0]), int(parts[1])):
        return int(parts[0]), int(parts[1])
    return now.largest[0]


def probabilities(now: WordView) -> None:
    """The decoder's probabilities for this word."""
    words, prediction = strings("translate"), now.record.prediction
    if prediction is None or now.word not in prediction.positions:
        return
    place = prediction.positions.index(now.word)
    texts, shares = prediction.texts[place][:MOST_ANSWERS], np.array(prediction.probabilities[place][:MOST_ANSWERS])
    st.markdown(f"##### {words['chances_title']}")
    rest = ", ".join(f"{text} {share:z.3f}" for text, share in zip(texts[1:4], shares[1:4]))
    figure(lambda theme: bars(theme, texts, {words["chances"]: shares},
                              axes=("", words["chances"]), y_range=(0, 1), height=240),
           key="translate-chances", alt=words["chances_alt"].format(first=texts[0], p=shares[0], rest=rest))
