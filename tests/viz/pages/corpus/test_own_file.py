"""The column of a file that its texts are in."""
import pytest
from streamlit.testing.v1 import AppTest

from viz.pages.corpus import own_file as corpus


def _page(content: bytes) -> None:
    from types import SimpleNamespace

    import streamlit as st

    from model.core.query import Kind
    from viz.pages.corpus import own_file as corpus

    corpus.uploader = lambda *_, **__: SimpleNamespace(name="mine.csv", getvalue=lambda: content)
    corpus._read = lambda name, numbered, asked: st.text([item.text for item in numbered])
    corpus.many_texts(SimpleNamespace(), "minilm", "0" * 16, Kind.SELF)


@pytest.fixture
def restored(monkeypatch):
    for name in ("uploader", "_read"):
        monkeypatch.setattr(corpus, name, getattr(corpus, name))   # what the page below replaces is put back


def test_the_column_of_a_file_is_chosen_where_several_hold_texts(restored):
    app = AppTest.from_function(_page, args=(b"title,body\none,first\ntwo,second\n",), default_timeout=60).run()
    assert not app.exception and not app.error and not app.text
    assert app.selectbox[0].options == ["title", "body"]
    app.selectbox[0].select("body").run()
    assert not app.exception and app.text[0].value == "['first', 'second']"
    app = AppTest.from_function(_page, args=(b"n,review\n1,first\n",), default_timeout=60).run()
    assert not app.selectbox and app.text[0].value == "['first']"
