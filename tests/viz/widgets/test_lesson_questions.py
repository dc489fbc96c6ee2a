"""Questions: facts about an answer are shown only once the question is answered."""
import pytest
from streamlit.testing.v1 import AppTest

PROMPT = {"ask": "Which?", "right": 1,
          "answers": [{"text": "this", "why": "Not this."}, {"text": "that", "why": "Yes."}]}


def page(prompt, chosen, show):
    from viz.state import State
    from viz.widgets.lesson_questions import ask

    class Asking(dict):
        state, present, set = State(show=show), False, None

    ask(Asking(guess=chosen), prompt, "guess", "Predict first")


@pytest.mark.parametrize(("chosen", "show", "said", "button"), [
    ("", False, [], "Show me"),
    ("a", False, ["✗ **this** *(chosen)*  \nNot this.\n\n✓ **that**  \nYes."], "Clear my answer"),
    ("", True, ["✗ **this**  \nNot this.\n\n✓ **that**  \nYes."], "Hide the answers")])
def test_answers_are_explained_once_one_is_chosen_or_all_are_shown(chosen, show, said, button):
    app = AppTest.from_function(page, args=(PROMPT, chosen, show)).run(timeout=30)
    assert [each.value for each in app.markdown] == ["**Predict first.** Which?", *said]
    assert [each.label for each in app.button] == [button]
    assert [each.options for each in app.radio] == ([] if said else [["this", "that"]])
