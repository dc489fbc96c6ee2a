"""Words that a small model does not know, and its vocabulary, for pages that read the user's text."""
from collections.abc import Callable

import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.record import AttentionRecord
from clearhead.viz.app.page import PageContext, unknown_words
from clearhead.viz.app.session import Kept
from clearhead.viz.style.format import token_markdown
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import bind
from clearhead.viz.widgets.layout import flex_row

WORDS = strings("vocabulary")

_DRAFT = Kept[tuple[str, ...]](())   # phrases assembled by clicking
NAMED = 8   # most unknown words listed in an error
READERS = {"translate": "en-fr", "read": "minilm"}   # pretrained catalogue models that read any word


def refusal(page: PageContext, record: AttentionRecord, offer: Callable[[PageContext, sources.Offer], None]) -> None:
    """Draw the page for a text with words that a small model does not know: the words, an example that the model can
    read, a pretrained model that reads any text, and the vocabulary. offer(page, entry) draws the button of a model."""
    card = record.card
    st.info(WORDS("refused", model=escape_markdown(card.title), words=", ".join(
        f"*{token_markdown(text)}*" for text in unknown_words(record)[:NAMED])))
    if record.query.text != page.text:   # the text comes from a field of the page, where it can be changed
        return
    example = example_of(card.id)
    with flex_row():
        if example:
            st.button(WORDS("example", text=escape_markdown(example)), key="known-example", type="primary",
                      on_click=_read, args=(page, example))
        wanted = READERS["translate" if len(record.kinds) > 1 else "read"]
        if entry := sources.catalogue().get(wanted):
            offer(page, entry)
    vocabulary(card.id, card.title, lambda text: _read(page, text))


def example_of(model: str) -> str:
    """Return a sentence of words that a small model knows; "" for a model that reads any word."""
    return WORDS["examples"].get(model.split("@")[0].split("-")[0], "")


def _read(page: PageContext, text: str) -> None:
    page.set(text=text, text_b=None, target=None)


def vocabulary(model: str, title: str, use: Callable[[str], None]) -> None:
    """Draw an expander with every phrase that the model knows; draws nothing for a model that reads any word.
    use(text): called with the sentence to read."""
    groups = desk.vocabulary(model)
    if not groups:
        return
    draft = _DRAFT.value
    with st.expander(WORDS("title", model=escape_markdown(title)), expanded=bool(draft)):
        st.markdown(WORDS("lead", n=sum(map(len, groups.values()))))
        for name, phrases in groups.items():
            st.pills(WORDS["groups"].get(name, name), phrases, format_func=escape_markdown, wrap=True,
                     **bind(lambda phrase: _DRAFT.put((*_DRAFT.value, phrase)), "phrase", None, f"phrases-{name}",
                            initial="default"))
        text = desk.join_phrases(model, draft)
        st.markdown(f"> {escape_markdown(text)}" if draft else f"> *{WORDS['empty']}*")
        with flex_row():
            st.button(WORDS["use"], key="draft-use", type="primary", disabled=not draft, on_click=_use,
                      args=(use, text))
            st.button(WORDS["undo"], key="draft-undo", disabled=not draft, on_click=_DRAFT.put, args=(draft[:-1],))
            st.button(WORDS["clear"], key="draft-clear", disabled=not draft, on_click=_DRAFT.put, args=((),))


def _use(use: Callable[[str], None], text: str) -> None:
    use(text)
    _DRAFT.put(())
