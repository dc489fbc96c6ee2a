"""Words that a small model never saw, and its vocabulary, to be browsed and clicked together; for the pages that read a
text of one's own."""
from collections.abc import Callable

import streamlit as st

from model.ask import sources
from model.core.record import AttentionRecord
from viz.page import PageContext
from viz.session import Kept
from viz.text import escape_markdown, strings

_DRAFT = Kept[tuple[str, ...]](())   # phrases that were clicked together
READERS = {"translate": "en-fr", "read": "minilm"}   # pretrained models of the catalogue that know any word


def unknown_words(page: PageContext, record: AttentionRecord) -> None:
    """What the model says of words that it never saw, and a model that knows more; nothing if it knows them all."""
    if any(any(attention_map.keys.unknown) for attention_map in record.maps):
        for note in record.notes:
            st.warning(escape_markdown(note))
        another_reader(page, record)


def another_reader(page: PageContext, record: AttentionRecord) -> None:
    """A button that reads the sentence with a pretrained model of the same sort; nothing for a model that was not
    trained here."""
    words, wanted = strings("vocabulary"), READERS["translate" if len(record.kinds) > 1 else "read"]
    other = next((offer for offer in sources.catalogue() if offer.id == wanted), None)
    if other is not None and sources.vocabulary(record.card.id):
        st.button(words["pretrained"].format(model=other.title), key="pretrained",
                  on_click=lambda: page.set(model=other.id),
                  help=words["pretrained_about"].format(model=other.title, size=other.size / 1e6))


def vocabulary(model: str, title: str, use: Callable[[str], None]) -> None:
    """An expander with every phrase that the model knows; nothing for a model that reads any word. use(text): the
    sentence is to be read."""
    groups = sources.vocabulary(model)
    if not groups:
        return
    words, draft = strings("vocabulary"), _DRAFT.value
    with st.expander(words["title"].format(model=escape_markdown(title)), expanded=bool(draft)):
        st.markdown(words["lead"].format(n=sum(map(len, groups.values()))))
        for name, phrases in groups.items():
            key = f"phrases-{name}"
            st.session_state[key] = None
            st.pills(words["groups"].get(name, name), phrases, format_func=escape_markdown, key=key, wrap=True,
                     on_change=_add, args=(key,))
        text = sources.join_phrases(model, draft)
        st.markdown(f"> {escape_markdown(text)}" if draft else f"> *{words['empty']}*")
        with st.container(horizontal=True):
            st.button(words["use"], key="draft-use", type="primary", disabled=not draft, on_click=_use,
                      args=(use, text))
            st.button(words["undo"], key="draft-undo", disabled=not draft, on_click=_put, args=(draft[:-1],))
            st.button(words["clear"], key="draft-clear", disabled=not draft, on_click=_put, args=((),))


def _add(key: str) -> None:
    if st.session_state[key] is not None:
        _put((*_DRAFT.value, st.session_state[key]))


def _use(use: Callable[[str], None], text: str) -> None:
    use(text)
    _put(())


def _put(draft: tuple[str, ...]) -> None:
    _DRAFT.value = draft
