"""A vision model opens with a picture, and an uploaded picture lasts as long as its last visitor."""
import gc
from dataclasses import replace

import pytest
from PIL import Image

from clearhead.model.core import pictures
from clearhead.model.core.query import UserError
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.session import Session
from clearhead.viz.app.state import State
from clearhead.viz.style.text import strings
from clearhead.viz.widgets import picture as choice
from clearhead.viz.widgets import picture as reading
from clearhead.viz.widgets.picture import OWN_PICTURES
from clearhead.viz.widgets.vocabulary import example_of
from tests.model.tiny_prompted import save
from tests.uploads import packed

OF_PICTURES, OF_TEXT = Page("record", pictures=True), Page("record")
CANVAS, PHOTOGRAPH = pictures.offered("marked-digit")[0].sha256, pictures.shipped()[0].sha256


@pytest.fixture
def visit(monkeypatch):
    """A new session, and the page's adjustments of its question."""
    def begin(state: State = State()):   # noqa: B008
        now = Session(state=state)
        for room in ("clearhead.viz.app.session", "clearhead.viz.app.page", "clearhead.viz.widgets.picture"):
            monkeypatch.setattr(f"{room}.session", lambda: now)
        return now, lambda page: reading.fit_question(PageContext("fabricated", page, {}))
    return begin


@pytest.mark.parametrize("model, unknown", [
    ("no/such-model", True), ("/no/such/folder", True), ("minilm", False), ("vit", False), ("marked-digit", False)])
def test_unknown_model_is_not_replaced(model, unknown, visit):
    assert reading.is_unknown(model) is unknown
    now, fit = visit(State(model=model))
    fit(OF_TEXT)
    assert (now.state.model == model) is (unknown or model == "minilm")


def test_page_of_texts_replaces_a_model_of_pictures(visit):
    now, fit = visit(State(model="marked-digit", image=PHOTOGRAPH))
    fit(OF_TEXT)
    assert (now.state.model, now.state.image) == ("minilm", None)
    now, fit = visit(State(model="marked-digit"))
    fit(OF_PICTURES)
    assert now.state.image == CANVAS


def test_small_model_gets_a_sentence_of_its_words(visit):
    now, fit = visit(State(model="induction"))
    fit(OF_TEXT)
    assert now.state.text == example_of("induction") != State().text
    now.state = replace(now.state, model="minilm")
    fit(OF_TEXT)
    assert now.state.text == example_of("induction"), "only forward"
    now, fit = visit(State(model="induction", text="a b c"))
    fit(OF_TEXT)
    assert now.state.text == "a b c"


def test_model_of_pictures_and_questions_gets_a_question_as_a_turn_of_a_chat(visit, tmp_path):
    folder = save(tmp_path / "llava", "llava")
    (folder / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    now, fit = visit(State(model=str(folder)))
    fit(OF_PICTURES)
    assert (now.state.text, now.state.chat) == ("What is in the picture?", True) and now.state.image
    for chat in (False, True):   # as the reader chooses from then on
        now.state = replace(now.state, chat=chat)
        fit(OF_PICTURES)
        assert now.state.chat is chat
    now.state = replace(now.state, model="minilm")
    fit(OF_TEXT)
    assert (now.state.text, now.state.chat, now.state.image) == (State().text, False, None)
    now.state = replace(now.state, chat=True)
    fit(OF_TEXT)
    assert now.state.chat


def test_own_picture_survives_reload_until_the_last_visitor_leaves(visit):
    first = Session()
    mine = pictures.keep(packed(Image.new("RGB", (9, 7), (7, 8, 9))), "mine.png", first.id).sha256
    now, fit = visit(State(model="marked-digit", image=mine))
    fit(OF_PICTURES)
    assert OWN_PICTURES.value == {mine: "mine.png"}
    del first
    gc.collect()
    assert pictures.find(mine).name == "mine.png", "the page that was loaded again has it"
    pictures.forget(now.id)
    with pytest.raises(UserError, match="no longer in this server's memory"):
        pictures.find(mine)
    now, fit = visit(State(model="marked-digit", image=mine))
    fit(OF_PICTURES)   # a link to it still opens a page, which says so
    assert now.state.image == mine and OWN_PICTURES.value == {}


def test_picture_choice_lists_shipped_uploaded_and_linked(monkeypatch):
    now = Session(state=State("marked-digit", image="12" * 32))
    monkeypatch.setattr(choice, "session", lambda: now)
    monkeypatch.setattr("clearhead.viz.app.session.session", lambda: now)
    choice.OWN_PICTURES.value = {"ab" * 32: "mine.png"}
    options = choice.picture_options()
    offered = [each.sha256 for each in pictures.offered("marked-digit")]
    assert list(options) == [*offered, "ab" * 32, "12" * 32] and "dot under" in options[offered[0]]
    assert options["ab" * 32] == "mine.png" and options["12" * 32] == strings("pictures")["gone"]
