"""Text fields: the answer to earlier text does not overwrite what the user types."""
from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from viz.widgets.fields import text_value

    said = st.session_state.setdefault("said", "one")
    st.text_area("text", **text_value("field", said),
                 on_change=lambda: st.session_state.update(said=st.session_state["field"]))
    st.button("example", on_click=lambda: st.session_state.update(said="from an example"))


def test_text_field_is_written_by_app_changes_only():
    app = AppTest.from_function(page).run(timeout=30)
    assert app.text_area[0].value == app.text_area[0].proto.default == "one"
    app.text_area[0].set_value("typed").run(timeout=30)
    assert app.text_area[0].value == app.text_area[0].proto.default == "typed" and not app.text_area[0].proto.set_value
    app.button[0].click().run(timeout=30)
    assert app.text_area[0].value == "from an example" and app.text_area[0].proto.set_value
