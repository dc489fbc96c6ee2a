"""Typed text in Markdown is literal: a real browser shows what was typed, and nothing in it runs."""
import json
from itertools import pairwise
from pathlib import Path

import pytest

from clearhead.viz.style.text import JOINER, show_invisibles
from tests.conftest import Server
from tests.hostile import CELLS, MARKS, RUNS, SIGNS, TOKENS

TEXTS = [text
         for text in (*RUNS, *MARKS, *CELLS, *TOKENS, *SIGNS, *(a + " " + b for a, b in zip(RUNS, MARKS, strict=False)),
                      *(f"{a}\n{b}" for a, b in pairwise(MARKS))) if show_invisibles(text).strip()]


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "texts.json").write_text(json.dumps(TEXTS), encoding="utf-8")
    server = Server(Path(__file__).parent / "hostile_app.py", folder / "server.log",
                    HOSTILE_TEXTS=str(folder / "texts.json")).wait()
    context = browser.new_context()
    opened, asked = context.new_page(), []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
    opened.goto(server.address)
    opened.wait_for_selector(".st-key-done", timeout=90_000)
    opened.wait_for_timeout(500)
    opened.asked = [each for each in asked if not each.startswith((server.address, "ws:", "data:", "blob:"))]
    yield opened
    context.close()
    server.stop()


def test_every_text_shows_itself(page):
    shown = page.evaluate(
        """count => [...Array(count).keys()].map(n => document.querySelector(`.st-key-place-${n}`).textContent)""",
        len(TEXTS))
    wrong = [(text, found) for text, found in zip(TEXTS, shown, strict=True)
             if _plain(show_invisibles(text)) not in _plain(found)]
    assert wrong == []


def _plain(text: str) -> str:
    """Return the text without HTML's changes of spaces and the invisible character against replacement."""
    return " ".join(text.replace(JOINER, "").split())


def test_nothing_runs_and_no_other_machine_is_contacted(page):
    assert page.evaluate("window.got") is None and page.asked == []
    inside = "[class*=st-key-place] "
    for tag in ("script", "img", "iframe", "svg.ran", "a", "table", "h1", "code", "strong strong", "ul", "ol",
                "blockquote", "hr", ".katex"):
        found = page.locator(inside + tag)
        assert found.count() == 0, (tag, found.first.evaluate("each => each.outerHTML"))
