"""A class link has nobody's answers, a QR code has the link if a room can scan it; a list steps through pages."""
import re

import pytest
import segno

from clearhead.viz.app import page as page_contract
from clearhead.viz.app.link import from_params, to_params
from clearhead.viz.app.page import PageContext, pages, with_controls
from clearhead.viz.app.session import Session
from clearhead.viz.app.state import State
from clearhead.viz.export.handout.files import Handout, make_words
from clearhead.viz.widgets import my_lesson
from clearhead.viz.widgets.page_bar import for_class, qr_code


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize(("name", "answered", "turned"), [
    ("softmax", {"guess": "c", "check_1": "a", "drawn": (0.5,) * 17}, {"t": 0.2}),
    ("positions", {"guess": "a", "guess_far": "b"}, {"scheme": "rotary"}),
    ("grammar", {}, {"whose": "open", "relation": "obj"})])
def test_class_link_keeps_controls_but_no_answers(monkeypatch, name, answered, turned, show):
    about = pages()[name][0]
    state = with_controls(State(present=True, screen="curves"), name, about, answered | turned)
    monkeypatch.setattr(page_contract, "session", lambda: Session(state=state))
    shared = to_params(for_class(PageContext(name, about, {}), show), name, about.controls)
    opened = from_params(shared, name, about.controls)
    assert opened.controls_of(name) == turned and (opened.show, opened.guest) == (show, True) and not opened.present


@pytest.mark.parametrize(("show", "opened"), [(False, {"predict": "cover"}), (True, {})])
def test_predicted_head_is_covered_again_in_a_class_link(monkeypatch, show, opened):
    about = pages()["heads"][0]
    state = with_controls(State(), "heads", about, {"predict": "shown", "marks": (3, 1004)})
    monkeypatch.setattr(page_contract, "session", lambda: Session(state=state))
    assert for_class(PageContext("heads", about, {}), show).controls_of("heads") == opened


def test_qr_code_has_quiet_zone_and_long_link_has_no_code():
    link = "https://attention.example.org/softmax?t=0.2&show=1"
    drawn = qr_code(link)
    assert drawn is not None
    wide = segno.make_qr(link, error="l").symbol_size(border=4)[0]
    assert f'viewBox="0 0 {wide} {wide}"' in drawn and re.search(r'fill="#fff"', drawn)
    assert qr_code(link + "&text=" + "a" * 1500) is None and qr_code(link + "a" * 5000) is None


LIST = Handout("", (make_words("text", "Hello"),
                    make_words("screen", "", link="http://x/softmax?t=0.5&screen=curves", title="Softmax"),
                    make_words("screen", "", link="http://x/no_such_page", title="Gone")))


@pytest.fixture
def visitor(monkeypatch):
    visitor = Session()
    for place in ("clearhead.viz.app.page.session", "clearhead.viz.app.session.session"):
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
