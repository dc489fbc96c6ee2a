"""A list presented across the pages that it names."""
import pytest

from viz import page as page_contract
from viz.handout.files import Handout, make_words
from viz.page import PageContext, pages
from viz.session import Session
from viz.widgets import my_lesson

LIST = Handout("", (make_words("text", "Hello"),
                    make_words("screen", "", link="http://x/softmax?t=0.5&screen=curves", title="Softmax"),
                    make_words("screen", "", link="http://x/no_such_page", title="Gone")))


@pytest.fixture
def visitor(monkeypatch):
    visitor = Session()
    for place in ("viz.page.session", "viz.session.session"):
        monkeypatch.setattr(place, lambda: visitor)
    monkeypatch.setattr(page_contract.st, "query_params", type("Params", (dict,), {"from_dict": dict.update})())
    monkeypatch.setattr(my_lesson, "handout", lambda: LIST)
    return visitor


def on(name: str) -> PageContext:
    return PageContext(name, pages()[name][0], {})


def test_list_steps_through_its_pages_and_returns(visitor):
    on("handout").set(text="My own sentence.")
    my_lesson.present(on("handout"), True)
    assert my_lesson.place_of(on("handout")) == ("1 of 3", "")
    my_lesson.step(on("handout"), -1)
    assert my_lesson.place_of(on("handout")) == ("1 of 3", ""), "nothing comes before the first"
    my_lesson.step(on("handout"), 1)
    assert visitor.next_page == ("softmax", {}) and visitor.state.present
    assert on("softmax").controls["t"] == 0.5 and my_lesson.place_of(on("softmax")) == ("2 of 3", "curves")
    assert my_lesson.place_of(on("masks")) == ("", ""), "a page that the list did not open is itself"
    my_lesson.step(on("softmax"), 1)
    assert visitor.next_page == ("handout", {}) and my_lesson.place_of(on("handout")) == ("3 of 3", "")
    my_lesson.step(on("handout"), 1)
    my_lesson.present(on("handout"), False)
    assert not visitor.state.present and visitor.state.text == "My own sentence."


def test_presented_page_without_a_list_stays(visitor):
    my_lesson.present(on("softmax"), True)
    assert visitor.state.present and my_lesson.place_of(on("softmax")) == ("", "")
    my_lesson.step(on("softmax"), 1)
    my_lesson.present(on("softmax"), False)
    assert visitor.next_page is None and not visitor.state.present
