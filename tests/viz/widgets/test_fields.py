"""A text field that keeps what it cannot take."""
import pytest
from streamlit.testing.v1 import AppTest


def field():
    import streamlit as st

    from clearhead.viz.widgets.fields import text_field

    taken = st.session_state.setdefault("taken", ["the first"])
    text_field("Sentence", taken[-1], taken.append, "sentence", 20, needed=True)


@pytest.mark.parametrize(("typed", "reason"), [("a" * 3_000, "3,000 characters"), ("", "empty"), (" ", "empty")])
def test_refused_text_stays_in_its_field_with_a_sentence(typed, reason):
    app = AppTest.from_function(field).run()
    app.text_input[0].set_value(typed).run()
    assert app.text_input[0].value == typed and reason in app.error[0].value
    assert app.session_state["taken"] == ["the first"]
    app.text_input[0].set_value("🐈 这个苹果").run()
    assert app.session_state["taken"][-1] == app.text_input[0].value == "🐈 这个苹果" and not app.error
