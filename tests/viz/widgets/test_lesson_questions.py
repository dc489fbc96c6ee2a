"""A question: what is true of its answers is said once it is answered, and not before."""
from streamlit.testing.v1 import AppTest

PROMPT = {"ask": "Which?", "right": 1,
          "answers": [{"text": "this", "why": "Not this."}, {"text": "that", "why": "Yes."}]}


def page(prompt, chosen):
    from types import SimpleNamespace

    from viz.widgets.lesson_questions import ask

    ask(SimpleNamespace(controls={"guess": chosen}, set=None), prompt, "guess", "Predict first")


def test_nothing_is_said_of_the_answers_before_one_is_chosen():
    app = AppTest.from_function(page, args=(PROMPT, "")).run(timeout=30)
    assert [each.value for each in app.markdown] == ["**Predict first.** Which?"] and not app.button
    assert app.radio[0].options == ["this", "that"]


def test_afterwards_each_answer_has_its_sentence_and_ones_own_is_marked():
    app = AppTest.from_function(page, args=(PROMPT, "a")).run(timeout=30)
    said = app.markdown[1].value
    assert "✗ **this** *(your answer)*  \nNot this." in said and "✓ **that**  \nYes." in said
    assert not app.radio and len(app.button) == 1


def test_a_letter_without_an_answer_is_none():
    assert AppTest.from_function(page, args=(PROMPT, "d")).run(timeout=30).radio
