"""Parts of a page that rerun separately, and text fields."""
from streamlit.testing.v1 import AppTest

from clearhead.viz.style.text import escape_markdown, strings


def erring():
    """A page of three parts, two of which fail."""
    import streamlit as st

    from clearhead.model.core.query import UserError
    from clearhead.viz.app.page import Page, PageContext
    from clearhead.viz.widgets.fragment import fragment

    page = PageContext("masks", Page("nothing"), {})

    def known(page: PageContext) -> None:
        st.button("again")
        raise UserError("The text is too *long*; shorten it.")

    def unknown(page: PageContext) -> None:
        raise KeyError("x")

    fragment(page, known)
    fragment(page, unknown)
    fragment(page, lambda page: st.write(f"shown: {page.state.show}"))
    st.button("show", on_click=page.set, kwargs={"show": True})


def test_error_in_one_part_leaves_other_parts_drawn():
    app = AppTest.from_function(erring).run(timeout=30)
    assert not app.exception
    assert [error.value for error in app.error] == [escape_markdown("The text is too *long*; shorten it."),
                                                    strings("frame")["unknown_page_error"]]
    assert app.markdown[-1].value == "shown: False"
    app.button[1].click().run(timeout=30)
    assert app.markdown[-1].value == "shown: True"   # the state that a callback changed is the one that a part sees


def questioning():
    import streamlit as st

    from clearhead.viz.app.page import Page, PageContext
    from clearhead.viz.widgets.fragment import fragment

    page = PageContext("masks", Page("record"), {})
    st.write(page.text)
    fragment(page, lambda page: st.button("example", on_click=page.set, kwargs={"text": "from an example"}))


def test_question_changed_in_a_part_reaches_the_page():
    app = AppTest.from_function(questioning).run(timeout=30)
    app.button[0].click().run(timeout=30)
    assert not app.exception and app.markdown[0].value == "from an example"


def offering():
    """A page with the button of a model whose title is Markdown."""
    from types import SimpleNamespace

    from clearhead.viz.app.page import Page, PageContext
    from clearhead.viz.widgets.fragment import model_button

    model_button(PageContext("masks", Page("nothing"), {}),
                 SimpleNamespace(on_disk=True, title="a *model*", id="mine", size=0, good_for=""))


def test_title_of_an_offered_model_is_no_markdown():
    app = AppTest.from_function(offering).run(timeout=30)
    assert not app.exception and r"a \*model\*" in app.button[0].label


def typing():
    import streamlit as st

    from clearhead.viz.widgets.fields import shown

    said = st.session_state.setdefault("said", "one")
    st.text_area("text", **shown("field", said),
                 on_change=lambda: st.session_state.update(said=st.session_state["field"]))
    st.button("example", on_click=lambda: st.session_state.update(said="from an example"))


def test_text_field_is_written_by_app_changes_only():
    app = AppTest.from_function(typing).run(timeout=30)
    assert app.text_area[0].value == app.text_area[0].proto.default == "one"
    app.text_area[0].set_value("typed").run(timeout=30)
    assert app.text_area[0].value == app.text_area[0].proto.default == "typed" and not app.text_area[0].proto.set_value
    app.button[0].click().run(timeout=30)
    assert app.text_area[0].value == "from an example" and app.text_area[0].proto.set_value
