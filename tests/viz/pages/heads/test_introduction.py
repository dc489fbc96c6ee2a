"""The introduction: shown at a browser's first visit without a link, and hidden after a choice."""
from streamlit.testing.v1 import AppTest

from clearhead.viz.pages.heads import introduction
from clearhead.viz.style.text import strings


def greeting():
    import streamlit as st

    from clearhead.viz.app.page import PageContext, pages
    from clearhead.viz.pages.heads.introduction import introduce

    page = PageContext("heads", pages()["heads"][0], {})
    introduce(page)
    st.text(page.state.text)


def sentences(app: AppTest) -> bool:
    return strings("introduction")["sentence"] in [each.value for each in app.markdown]


def test_typed_sentence_is_answered_and_hides_the_introduction():
    app = AppTest.from_function(greeting).run()
    assert not app.exception and sentences(app)
    key = "way-sentence"
    app.text_input(key=key).set_value(" ").run()
    assert sentences(app)
    app.text_input(key=key).set_value(" A cat sat. ").run()
    assert not sentences(app) and app.text[0].value == "A cat sat."


def test_link_or_earlier_visit_hides_the_introduction(monkeypatch):
    app = AppTest.from_function(greeting)
    app.query_params["token"] = "3"
    assert not sentences(app.run())
    monkeypatch.setattr(introduction, "COOKIE", "known")
    monkeypatch.setattr(introduction.st.context.__class__, "cookies", {"known": "1"})
    assert not sentences(AppTest.from_function(greeting).run())
