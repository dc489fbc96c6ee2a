"""What does a decoder look at when it writes the next word? A translation word by word, and where il or elle is
decided."""
import inspect
from functools import partial

import streamlit as st

from model.ask import sources
from model.ask.sources import Entry
from model.core.query import Kind
from model.core.record import AttentionRecord, Tokens
from model.studies import predictions
from model.studies.predictions import pronoun_of
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch, Words
from viz.pages.translate.decision import decision_section
from viz.pages.translate.word import (
    WordView,
    head_rows,
    open_head,
    probabilities,
    selected_word,
    sentence_strips,
)
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.fragment import PLAYING, folded, pause, repeat
from viz.widgets.vocabulary import unknown_words, vocabulary

OURS = "translator"
WORD_SECONDS = 0.7   # of a translation that is played
PAGE = Page("Translate", "Look", 3, "record", controls=(
    Number("word", -1, -1, 10**4, whole=True), Switch("stepping"), Choice("side", "cross", ("cross", "causal")),
    Words("open", "", 12),
    Choice("mode", "zero", ("zero", "mean")), Switch("set")))


def render(page: PageContext) -> None:
    """Draws the page."""
    words = strings("translate")
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    model, offers = _model(page)
    state = page.state
    record: AttentionRecord = page.ask(page.query(model=model))
    if Kind.CROSS not in record.kinds:
        model, record = OURS, page.ask(page.query(model=OURS))
    if model != state.model:
        chosen = offers[state.model].title if state.model in offers else state.model
        st.caption(words["another"].format(model=escape_markdown(chosen), ours=escape_markdown(record.card.title)))
    unknown_words(page, record)
    swap = sources.swap(state.text) if model == OURS else None
    if swap is not None:
        _twins(page, model, swap, record)
    now = selected_word(page, record)
    sentence_strips(page, now)
    left, right = st.columns([6, 5], gap="large")
    with left:
        head_rows(page, now)
        probabilities(now)
    with right:
        open_head(page, now)
    decision_section(page, model, state.text, "" if swap is None else swap.twin)
    vocabulary(model, record.card.title, lambda text: page.set(text=text))
    _sources(words["source"])
    if PLAYING.value:
        repeat(WORD_SECONDS, partial(_next, page, now))


def _model(page: PageContext) -> tuple[str, dict[str, Entry]]:
    """The model on the left if it translates, or if nobody knows what it does; else the one that was trained here."""
    offers = {offer.id: offer for offer in sources.catalogue()}
    chosen = page.state.model
    return (chosen if chosen not in offers or offers[chosen].translates else OURS), offers


def _twins(page: PageContext, model: str, swap: sources.Swap, record: AttentionRecord) -> None:
    """The adjectives that may stand here, and both translations, one under the other."""
    words = strings("translate")
    other: AttentionRecord = page.ask(sources.open_query(model, swap.twin))
    for role, adjectives in enumerate(swap.adjectives):
        key = f"adjective-{role}"
        st.session_state[key] = swap.adjective if role == swap.role else None
        st.pills(words["role"].format(noun=swap.nouns[role]), adjectives, key=key, wrap=True, on_change=_swapped,
                 args=(page, swap, key))
    lines = [(words["this"], swap.text, record), (words["twin"], swap.twin, other)]
    st.markdown("\n".join(f"- {label}: {escape_markdown(text)} → {_french(translated)}"
                          for label, text, translated in lines))
    pronouns = {_pronoun(translated) for _, _, translated in lines}
    if len(pronouns) == 1 and page.state.target is None:
        st.caption(words["same"])


def _swapped(page: PageContext, swap: sources.Swap, key: str) -> None:
    if st.session_state[key] is not None:
        page.set(text=swap.with_adjective(st.session_state[key]))


def _pronoun(record: AttentionRecord) -> str:
    tokens = record[Kind.CROSS].queries
    place = pronoun_of(tokens)
    return "" if place is None else tokens.texts[place].lower()


def _french(record: AttentionRecord) -> str:
    """The translation as prose, its pronoun in bold."""
    tokens: Tokens = record[Kind.CROSS].queries
    pronoun, text = pronoun_of(tokens), ""
    for place, word in enumerate(tokens.texts):
        if not tokens.special[place]:
            tight = not text or text.endswith("'") or word in (".", ",")
            text += ("" if tight else " ") + (f":primary[**{escape_markdown(word)}**]" if place == pronoun
                                              else escape_markdown(word).replace("\\'", "'"))
    return text


def _next(page: PageContext, now: WordView) -> None:
    """The next word of a translation that is played."""
    if now.word + 1 >= len(now.shown.queries):
        pause()
    else:
        page.set(word=now.word + 1, passing=True)


def _sources(words: dict) -> None:
    def inside() -> None:
        st.markdown(words["formula"])
        st.code(inspect.getsource(predictions.rows_by_produced_token))
        st.markdown(words["sources"])

    folded(words["title"], inside, key="translate-formula")
