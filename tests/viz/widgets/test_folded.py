"""What is folded away is neither made nor sent before somebody opens it."""
from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from viz.widgets.fragment import folded

    folded("Formula", lambda: st.code("x = 1"), key="formula")


def test_it_is_not_there_until_it_is_opened():
    app = AppTest.from_function(page).run(timeout=30)
    assert not app.exception and len(app.expander) == 1 and len(app.code) == 0
    app.session_state["formula"] = True
    app.run(timeout=30)
    assert not app.exception and [each.value for each in app.code] == ["x = 1"]
