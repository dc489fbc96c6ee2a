"""The sentence of the page What “it” refers to: which words are asked about, and its twin."""
import streamlit as st

from model.core.query import UserError
from model.core.record import AttentionMap
from model.studies.coreference import (
    Case,
    Words,
    guess,
    make_case,
    nouns,
    pieces,
    pronouns,
    same_sentence,
    twin_of,
    words_in,
    words_of,
)
from viz.components.token_strip import StripEvent
from viz.examples import example_for, other_twin
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for
from viz.widgets.fields import bind
from viz.widgets.sentence_strip import sentence_strip

ROLES = ("pronoun", "correct", "wrong")


def sentence_case(page: PageContext) -> Case | None:
    """The case of the sentence on screen: what was chosen, and what the rest of the sentence suggests."""
    text, example = page.state.text, example_for(page.state.text, None)
    chosen = tuple(page.controls[role] for role in ROLES)
    if not any(chosen) and same_sentence(text) is None and example is not None and example.rival:
        first, second = example.pair[1], example.rival
        chosen = (example.pair[0], *((second, first) if text == example.twin else (first, second)))
    return guess(text, chosen)


def choose_words(page: PageContext, attention_map: AttentionMap, case: Case) -> None:
    """The tokens, of which a click sets one of the three words, and the three words with their suggestions."""
    words = strings("coreference")["ask"]
    place = words_of(attention_map.queries, case)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        for role in ROLES:
            _role(page, role, case)
        choice_for(page, "click", words["click"], {role: words[role] for role in ROLES})
    sentence_strip(attention_map.queries, focus=place.pronoun[0], pair=(place.pronoun[0], place.correct[0]),
                   key="coref_strip", on_event=lambda event: _clicked(page, attention_map, case, event, place))


def _role(page: PageContext, role: str, case: Case) -> None:
    """The suggested words for one role, as small buttons."""
    text = case.sentence
    spans = pronouns(text) if role == "pronoun" else nouns(text)
    options = list(dict.fromkeys([*(text[slice(*span)] for span in spans), case.word(role)]))
    widget = bind(page.set, role, case.word(role))
    st.pills(strings("coreference")["ask"][role], options, format_func=escape_markdown, **widget)


def _clicked(page: PageContext, attention_map: AttentionMap, case: Case, event: StripEvent, place: Words) -> None:
    """A click on a token gives its whole word to the role that the clicks set; the other roles keep theirs."""
    token = event.token if event.pair is None else event.pair[1]
    if token is None or (event.pair is None and token in place.pronoun):
        return
    word = next((case.sentence[slice(*span)] for span in words_in(case.sentence)
                 if token in pieces(attention_map.queries, span)), None)
    if word is not None:
        roles = {role: case.word(role) for role in ROLES}
        page.set(**(roles | {page.controls["click"]: word}))


def twin_case(page: PageContext, case: Case) -> Case | None:
    """The twin's case: that of the example or of the set, or the one that is typed here."""
    words = strings("coreference")["ask"]
    known = _known_twin(page, case)
    with st.container(width=READABLE_WIDE):
        st.text_input(words["twin"].format(it=escape_markdown(case.word("pronoun")),
                                           b=escape_markdown(case.word("wrong"))), help=words["twin_help"],
                      placeholder=case.sentence,
                      **bind(page.set, "twin", page.controls["twin"] or (known or "")))
    for text in (page.controls["twin"], known):
        if text and text != case.sentence:
            try:
                return make_case(text, case.word("pronoun"), case.word("wrong"), case.word("correct"))
            except UserError as error:
                st.warning(escape_markdown(str(error)))
    st.caption(words["twin_same"])
    return None


def _known_twin(page: PageContext, case: Case) -> str | None:
    """The twin of an example or of a sentence of the sets."""
    example, known = example_for(case.sentence, None), same_sentence(case.sentence)
    if known is not None and (other := twin_of(known)) is not None:
        return other.sentence
    return None if example is None else other_twin(example, case.sentence)
