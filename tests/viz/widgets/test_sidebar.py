"""The sidebar: the page uses its settings."""
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from clearhead.model import sources
from clearhead.model.core.query import UserError
from clearhead.viz.app.page import Page, lessons, pages
from clearhead.viz.app.session import session
from clearhead.viz.widgets import figure
from tests.lesson_pages import run_page

TEXTS = ("the animal crossed the street because it was tired",
         "the cat chased the dog in the street because it was hungry")
MODELS = ("minilm", "resolver-narrow")
TURNED = {("softmax", "inside"): {"t": 2.0}}   # at T = 1 the model is what it was


def positions(page: Page) -> Iterator[dict[str, Any]]:
    """Return the controls with which a page uses model and text: as opened, or each of its switches that use them,
    which may be below a lesson's question."""
    answered = {"guess": "a"} if any(control.name == "guess" for control in page.controls) else {}
    yield from (answered | {name: value} for name, value in page.asks_at) if page.asks_at else ({},)


BESIDE = [(name, controls) for name, (page, _) in pages().items()
          if page.asks and not page.own_texts for controls in positions(page)]


def questions(monkeypatch, name: str, controls: dict) -> list[bool]:
    """Return for each question that the page asks at first whether it uses the sidebar's model and text."""
    taken: list[bool] = []

    def open_query(model: str, text: str, *_: Any, image: str | None = None, **more: Any) -> Any:
        state = session().state
        taken.append(model == state.model and (text == state.text if state.image is None else image == state.image))
        raise UserError("No answer here.")

    monkeypatch.setattr(sources, "open_query", open_query)
    AppTest.from_function(run_page, args=(name, controls, {}), default_timeout=60).run()
    return taken


@pytest.mark.parametrize("name, controls", BESIDE, ids=str)
def test_page_asks_with_the_sidebars_model_and_text(monkeypatch, name, controls):
    assert any(questions(monkeypatch, name, controls))


def seen(monkeypatch, name: str, controls: dict, **question: str) -> list:
    """Return all words and charts of a lesson beside a sidebar's question."""
    charts: list = []
    monkeypatch.setattr(figure, "chart", lambda spec, *, key, alt="", **_: charts.append((key, spec, alt)))
    app = AppTest.from_function(run_page, args=(name, {"guess": "a"} | controls, question), default_timeout=120).run()
    assert not app.exception and not app.error, (app.exception, app.error)
    return [charts, *([each.value for each in app.get(kind)] for kind in ("markdown", "caption", "html"))]


@pytest.mark.parametrize("name, controls", [each for each in BESIDE if each[0] in lessons()], ids=str)
def test_text_and_model_change_what_a_lesson_shows(monkeypatch, name, controls):
    turned = {key: value for (page, switch), more in TURNED.items() if page == name and switch in controls
              for key, value in more.items()}
    asked = ({"model": MODELS[0], "text": TEXTS[0]}, {"model": MODELS[0], "text": TEXTS[1]},
             {"model": MODELS[1], "text": TEXTS[1]})
    shown = [str(seen(monkeypatch, name, controls | turned, **question)) for question in asked]
    assert all(before != after for before, after in pairwise(shown))
