"""A class link contains nobody's answers, and a QR code contains the link if a room can scan it."""
import re

import pytest
import segno

from viz import page as page_contract
from viz.link import from_params, to_params
from viz.page import PageContext, pages, with_controls
from viz.session import Session
from viz.state import State
from viz.widgets.share import for_class, qr_code


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize(("name", "answered", "turned"), [
    ("softmax", {"guess": "c", "check_1": "a", "drawn": (0.5,) * 17}, {"t": 0.2}),
    ("positions", {"guess": "a", "guess_far": "b"}, {"scheme": "rotary"}),
    ("grammar", {}, {"drawn": "open", "relation": "obj"})])
def test_class_link_keeps_controls_but_no_answers(monkeypatch, name, answered, turned, show):
    about = pages()[name][0]
    state = with_controls(State(present=True, screen="curves"), name, about, answered | turned)
    monkeypatch.setattr(page_contract, "session", lambda: Session(state=state))
    shared = to_params(for_class(PageContext(name, about, {}), show), name, about.controls)
    opened = from_params(shared, name, about.controls)
    assert opened.controls_of(name) == turned and opened.show == show and not opened.present


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
