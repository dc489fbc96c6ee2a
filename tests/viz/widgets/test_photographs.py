"""What is photographed for an entry, and what is not accepted or handed over twice."""
import json
from contextlib import nullcontext
from urllib.parse import urlencode

import pytest

from clearhead.model.core.query import UserError, quiet
from clearhead.viz.export.handout import photograph
from clearhead.viz.export.handout.files import Handout, make_words
from clearhead.viz.export.handout.page import page
from clearhead.viz.export.handout.photograph import Photograph
from clearhead.viz.widgets.photographs import screen_of

BASE = "https://attention.example.org/"


def entry(name: str, texts: tuple = (), revision: str = "", **params: str):
    return make_words("screen", "Note", link=f"{BASE}{name}?{urlencode(params)}", title="A <b>", revision=revision,
                      texts=texts)


def test_screen_is_the_presented_page_and_states_what_the_entry_does():
    short = "0123456789abcdef"
    made = screen_of(entry("heads", ((short, "A long text."),), "12ab", model="minilm", text_id=short, layer="3"))
    assert (made.page, dict(made.texts)) == ("heads", {short: "A long text."})
    assert dict(made.params) == {"model": "minilm", "text_id": short, "layer": "3", "present": "1"}
    assert dict(made.shows) == {"model": "minilm", "text": "A long text.", "revision": "12ab"}
    assert dict(screen_of(entry("heads", text_id=short)).shows)["text"] == "lost", "no page states this"


def test_lesson_is_photographed_at_a_section_with_its_answer():
    made = screen_of(entry("softmax", t="0.5", guess="c", entry="3"))
    assert dict(made.params) == {"screen": "curves.1", "show": "1", "t": "0.5", "present": "1"} and made.shows == ()
    assert screen_of(entry("nowhere")) is None


def test_texts_are_handed_over_once_to_the_browser_with_the_token(monkeypatch):
    monkeypatch.setitem(photograph._expected, "token", {"short": "text"})
    assert photograph.expected("other") is None
    assert photograph.expected("token") == {"short": "text"} and photograph.expected("token") is None


@pytest.mark.parametrize(("shows", "accepted"), [("10,3", True), ("10,4", False)])
def test_photograph_of_an_answer_needs_its_tokens(monkeypatch, shows, accepted):
    stated = dict(screen_of(entry("heads", model="picture-questions", continuation=shows)).shows) | {"failed": False}
    for name, fake in {"_page": lambda *given: nullcontext(lambda *given, **more: None), "_value": lambda *given: None,
                       "_drawn": lambda *given: json.dumps(stated), "_taken": lambda call: (b"", "")}.items():
        monkeypatch.setattr(photograph, name, fake)
    with nullcontext() if accepted else pytest.raises(UserError):
        photograph.photograph(screen_of(entry("heads", model="picture-questions", continuation="10,3")), quiet)


def test_page_shows_a_photograph_or_why_there_is_none():
    screen = entry("heads")
    taken = page(Handout("", (screen,)), {screen.id: Photograph(((b"RIFF", 'It says "so".'), (b"", "Then")))}).decode()
    assert '<img class="photograph" alt="A &lt;b&gt;. It says &quot;so&quot;." src="data:image/webp;base64,' in taken
    assert taken.count("<figure") == 2 and "</b> 2 of 2</figcaption>" in taken, "a figure for each step"
    assert "Stopped before" in page(Handout("", (screen,)), {screen.id: "Stopped before"}).decode()
    assert "Not photographed" in page(Handout("", (screen,))).decode()
