"""A text field that keeps what it cannot take, and widgets that are written only when they show something else."""
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


def bound():
    import streamlit as st

    from clearhead.viz.widgets.fields import bind, pills, segments, text_field, toggle

    taken = st.session_state.setdefault("taken", {"pill": None, "pills": [1], "way": "a", "on": False, "said": "one"})

    def choose(**changes):
        taken.update(changes)

    st.pills("a pill that opens something", [1, 2], **bind(
        lambda pill: choose(opened=pill), "pill", None, initial="default"))
    st.pills("pills", [1, 2], selection_mode="multi", **bind(choose, "pills", taken["pills"], initial="default"))
    segments("way", {"a": "A", "b": "B"}, choose, "way", taken["way"])
    toggle("on", choose, "on", taken["on"])
    pills("heads", [((0, 1), "L0 H1"), ((2, 3), "L2 H3")], choose, "head", taken.get("head", (0, 1)), "head")
    text_field("said", taken["said"], lambda said: choose(said=said), "view_said", 20)
    st.number_input("count", 0, 9, **bind(choose, "count", taken.get("count", 3), initial="value"))
    st.button("another", on_click=lambda: choose(way="a", pills=[2], count=5))


def test_widgets_are_written_only_when_they_show_something_else():
    # a value that is on its way to a slow server would be lost if the answer to an earlier click overwrote it
    def written(app):
        return {each.proto.id.split("-")[-1].removeprefix("view_") for each in (
            *app.button_group, *app.toggle, *app.text_input, *app.number_input) if each.proto.set_value}

    app = AppTest.from_function(bound).run()
    assert not app.exception and not written(app.run())
    app.toggle[0].set_value(True).run()
    app.text_input[0].set_value("two").run()
    app.button_group[2].set_value("b").run()
    assert not written(app) and [each.value for each in (app.toggle[0], app.text_input[0])] == [True, "two"]
    app.button_group[0].set_value(2).run()
    assert written(app) == {"pill"} and app.session_state["taken"]["opened"] == 2   # no pill stays chosen
    app.button[0].click().run()
    assert written(app) == {"way", "pills", "count"}
    assert not written(app.run()) and app.button_group[2].value == "a" and app.number_input[0].value == 5
    app.button_group[3].set_value((2, 3)).run()
    assert app.session_state["taken"]["head"] == app.button_group[3].value == (2, 3) and not written(app)
    assert not app.exception
