"""What a click on the page Heads draws, and in which order."""
from types import SimpleNamespace

import pytest

from viz.pages import heads


@pytest.mark.parametrize(("alone", "expected"), [
    (True, ["head", "browser draws", "sentence", "grid", "look here"]),
    (False, ["sentence", "grid", "head", "look here"])])
def test_a_click_is_answered_with_the_open_head_which_the_browser_draws_before_the_rest_comes(
    monkeypatch, alone, expected):
    drawn = []
    parts = {"_sentence": "sentence", "_grid": "grid", "_open_head": "head", "look_here_first": "look here",
             "wait_for_paint": "browser draws"}
    for part, name in parts.items():
        monkeypatch.setattr(heads, part, lambda *_, name=name: drawn.append(name))
    monkeypatch.setattr(heads, "in_fragment_run", lambda: alone)
    monkeypatch.setattr(heads, "is_covered", lambda *_: False)
    monkeypatch.setattr(heads, "replace", lambda frame, **_: frame)
    monkeypatch.setattr(heads, "MeasuresQuery", lambda *_: None)
    monkeypatch.setattr(heads.sources, "cached", lambda question: SimpleNamespace())
    state = SimpleNamespace(question="q")
    frame = SimpleNamespace(current_state=lambda: state, state=state, view=lambda: SimpleNamespace(kind="self"),
                            query=lambda: None, set_view=None)
    heads._picture.__wrapped__(frame, {"self": None})
    assert drawn == expected
