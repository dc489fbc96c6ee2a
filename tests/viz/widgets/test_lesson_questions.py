"""Questions: facts about an answer are shown only once the question is answered."""
from streamlit.testing.v1 import AppTest

PROMPT = {"ask": "Which?", "right": 1,
          "answers": [{"text": "this", "why": "Not this."}, {"text": "that", "why": "Yes."}]}


def page(prompt, chosen, show=False):
    from viz.state import State
    from viz.widgets.lesson_questions import ask

    class Asking(dict):
        state, present, set = State(show=show), False, None

    ask(Asking(guess=chosen), prompt, "guess", "Predict first")


def test_answers_are_not_explained_before_one_is_chosen():
    app = AppTest.from_function(page, args=(PROMPT, "")).run(timeout=30)
    assert [each.value for each in app.markdown] == ["**Predict first.** Which?"]
    assert [each.label for each in app.button] == ["Show me"]
    assert app.radio[0].options == ["this", "that"]


def test_chosen_answer_is_marked_and_all_are_explained():
    app = AppTest.from_function(page, args=(PROMPT, "a")).run(timeout=30)
    said = app.markdown[1].value
    assert "✗ **this** *(chosen)*  \nNot this." in said and "✓ **that**  \nYes." in said
    assert not app.radio and len(app.button) == 1


def test_show_me_reveals_every_answer_and_marks_none():
    app = AppTest.from_function(page, args=(PROMPT, "", True)).run(timeout=30)
    assert app.markdown[1].value == "✗ **this**  \nNot this.\n\n✓ **that**  \nYes."
    assert not app.radio and [each.label for each in app.button] == ["Hide the answers"]
