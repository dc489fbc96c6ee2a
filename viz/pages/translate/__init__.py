"""What does a decoder look at when it writes the next word? A translation word by word, and where il or elle is decided."""
import inspect
import time

import streamlit as st

from model.ask import small_models, sources
from model.ask.sources import Offer
from model.core.query import Kind
from model.core.record import AttentionRecord, Tokens
from model.studies import pronoun_choice
from model.studies.pronoun_choice import pronoun_of
from viz.page import Frame, Page
from viz.page_controls import Choice, Number, Switch, Words
from viz.pages.translate.decision import READABLE, decided
from viz.pages.translate.word import Written, chances, looked_at, open_head, strips, written
from viz.text import literal, strings
from viz.widgets.vocabulary import unknown_words, vocabulary

OURS = "translator"
WORD_SECONDS = 0.7   # of a translation that is played
PAGE = Page("Translate", "Look", 11, "record", controls=(
    Number("word", -1, -1, 10**4, whole=True), Switch("stepping"), Choice("side", "cross", ("cross", "causal")), Words("open", "", 12),
    Choice("mode", "zero", ("zero", "mean")), Switch("set")))


def render(frame: Frame) -> None:
    words = strings("translate")
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE)
    model, offers = _model(frame)
    state = frame.state
    record: AttentionRecord = frame.ask(sources.open_query(model, state.text, target=state.target))
    if Kind.CROSS not in record.kinds:
        model, record = OURS, frame.ask(sources.open_query(OURS, state.text, target=state.target))
    if model != state.model:
        chosen = offers[state.model].title if state.model in offers else state.model
        st.caption(words["another"].format(model=literal(chosen), ours=literal(record.card.title)))
    unknown_words(frame, record)
    swap = small_models.swap(state.text) if model == OURS else None
    if swap is not None:
        _twins(frame, model, swap, record)
    now = written(frame, record)
    strips(frame, now)
    left, right = st.columns([6, 5], gap="large")
    with left:
        looked_at(frame, now)
        chances(now)
    with right:
        open_head(frame, now)
    decided(frame, model, state.text, "" if swap is None else swap.twin)
    vocabulary(model, record.card.title, lambda text: frame.put(text=text))
    _sources(words["source"])
    if st.session_state.get("writing"):
        _next(frame, now)


def _model(frame: Frame) -> tuple[str, dict[str, Offer]]:
    """The model on the left if it translates, or if nobody knows what it does; else the one that was trained here."""
    offers = {offer.id: offer for offer in sources.offers()}
    chosen = frame.state.model
    return (chosen if chosen not in offers or offers[chosen].translates else OURS), offers


def _twins(frame: Frame, model: str, swap, record: AttentionRecord) -> None:
    """The adjectives that may stand here, and both translations, one under the other."""
    words = strings("translate")
    other: AttentionRecord = frame.ask(sources.open_query(model, swap.twin))
    for role, adjectives in enumerate(swap.adjectives):
        key = f"adjective-{role}"
        st.session_state[key] = swap.adjective if role == swap.role else None
        st.pills(words["role"].format(noun=swap.nouns[role]), adjectives, key=key, wrap=True, on_change=_swapped, args=(frame, swap, key))
    lines = [(words["this"], swap.text, record), (words["twin"], swap.twin, other)]
    st.markdown("\n".join(f"- {label}: {literal(text)} → {_french(each)}" for label, text, each in lines))
    said = {_pronoun(each) for _, _, each in lines}
    if len(said) == 1 and frame.state.target is None:
        st.caption(words["same"])


def _swapped(frame: Frame, swap, key: str) -> None:
    if st.session_state[key] is not None:
        frame.put(text=swap.with_adjective(st.session_state[key]))


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
            text += ("" if tight else " ") + (f":primary[**{literal(word)}**]" if place == pronoun else literal(word).replace("\\'", "'"))
    return text


def _next(frame: Frame, now: Written) -> None:
    """The next word of a translation that is played; any click takes over at the end of the pause."""
    if now.word + 1 >= len(now.shown.queries):
        st.session_state["writing"] = False
    else:
        time.sleep(WORD_SECONDS)
        frame.turn(word=now.word + 1)
    st.rerun()


def _sources(words: dict) -> None:
    with st.expander(words["title"]):
        st.markdown(words["formula"])
        st.code(inspect.getsource(pronoun_choice.produced))
        st.markdown(words["sources"])
