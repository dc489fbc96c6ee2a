"""The menu: its entries, their order, and the link to the next page."""
import pkgutil
from types import SimpleNamespace

import pytest
from PIL import Image

import clearhead.viz.pages
import clearhead.viz.pages.lessons
from clearhead.model.ask import desk
from clearhead.viz.app import frame as app
from clearhead.viz.app import page as page_contract
from clearhead.viz.app.page import PageContext, lessons, page_after, pages
from clearhead.viz.app.page_controls import Switch
from clearhead.viz.app.session import Session
from clearhead.viz.app.state import PRESENTING, QUESTION, VIEW
from clearhead.viz.components.component import Selection
from clearhead.viz.pages.heads import explorer
from clearhead.viz.style.text import menu, page_titles, strings
from clearhead.viz.widgets.cards import PICTURES


def test_every_page_is_in_the_menu_and_no_two_have_one_title():
    files = {info.name for package in (clearhead.viz.pages, clearhead.viz.pages.lessons)
             for info in pkgutil.iter_modules(package.__path__)}
    assert files == set(pages()) == set(page_titles()) and len(files) >= 20
    assert len({page.title for page, _ in pages().values()}) == len(files)
    assert {page.section for page, _ in pages().values()} <= set(menu()) <= files and len(menu()) == 6


def test_cards_have_a_picture_a_question_and_minutes():
    listed = [name for word in ("lessons", "research") for group in list(menu()[word].values())[1:] for name in group]
    assert set(listed) == set(pages()) - set(menu()), "every other page is a word of the menu"
    for name in listed:
        words = strings(f"lessons/{name}" if name in lessons() else name)
        minutes = words["minutes"] if name in lessons() else strings("research")["minutes"][name]
        assert words["question"].endswith("?") and 0 < minutes < 30
        for theme in ("light", "dark"):
            picture = PICTURES / f"{name}-{theme}.webp"
            with Image.open(picture) as shown:
                assert shown.size == (480, 270) and picture.stat().st_size < 40_000, picture


def test_sidebar_is_there_only_where_the_page_asks():
    for name, (page, _) in pages().items():
        start = {control.name: control.start for control in page.controls}
        known = {control.name: control for control in page.controls}
        assert page.asks_with(start) == (page.needs != "nothing" and not page.asks_at), name
        for control, value in page.asks_at:
            assert page.asks_with(start | {control: value}) and known[control].clean(value) == value, name


def test_kept_record_is_checked(monkeypatch):
    watched, asked = [], []
    page, proof = SimpleNamespace(query=lambda: "the question"), SimpleNamespace(status="kept")
    monkeypatch.setattr(app, "session", Session)
    monkeypatch.setattr(app.desk, "cached", lambda query: SimpleNamespace(verification=proof))
    monkeypatch.setattr(app.desk, "check", lambda query, who: asked.append(query) or True)
    monkeypatch.setattr(app, "rerun_when", lambda seconds, done: watched.append(done))
    app.watch_check(page)
    assert watched[0]() and asked == ["the question"]
    proof.status = "verified"
    app.watch_check(page)
    assert len(watched) == 1


def test_next_page_links_pass_every_page_once_and_return():
    name, seen = "heads", []
    while name not in seen:
        seen.append(name)
        name = page_after(name)
    assert seen == list(pages()) and name == "heads"


def test_page_chosen_in_callback_opens_once(monkeypatch):
    session, opened = Session(), []
    monkeypatch.setattr(page_contract, "session", lambda: session)
    monkeypatch.setattr(page_contract.st, "switch_page", opened.append)
    page = PageContext("heads", pages()["heads"][0], {"compare": "the entry"})
    page.follow()
    page.open_next("compare", versus="edit", other="The cat sat.")
    assert opened == []
    page.follow()
    page.follow()
    assert opened == ["the entry"]
    assert session.state.controls_of("compare") == {"versus": "edit", "other": "The cat sat."}


@pytest.fixture
def heads_page(monkeypatch):
    """The page Heads of a new session with a record; `address` is the URL that its changes write."""
    visitor, address = Session(), QueryParams()
    monkeypatch.setattr(page_contract, "session", lambda: visitor)
    monkeypatch.setattr(page_contract.st, "query_params", address)
    page = PageContext("heads", pages()["heads"][0], {})
    record = desk.ask(page.query(), "tests").result()
    monkeypatch.setattr(page_contract.waiting, "ask", lambda question, height: record)
    page.visitor, page.address = visitor, address
    return page


class QueryParams(dict):
    def from_dict(self, params: dict) -> None:
        self.clear()
        self.update(params)


def test_edited_text_keeps_the_head(heads_page):
    shown = heads_page.view()
    heads_page.set(text="The cat sat.")
    state = heads_page.state
    assert (state.view.layer, state.view.head) == (shown.layer, shown.head) != (0, 0) and "head" in state.user_set
    heads_page.set(model="smollm2")
    assert heads_page.state.user_set == frozenset()


def test_looking_at_the_view_changes_nothing(heads_page):
    before = vars(heads_page.visitor) | {}
    heads_page.view()
    assert vars(heads_page.visitor) == before and heads_page.address == {}


def test_token_keeps_a_head_that_was_chosen_since_the_strip_was_drawn(heads_page, monkeypatch):
    strips = []
    monkeypatch.setattr(explorer, "token_strip", lambda tokens, on_event, **look: strips.append(on_event))
    explorer.sentence(heads_page, *explorer.displayed(heads_page), False)
    heads_page.set(head=(1, 4))
    strips[0](Selection(3))
    assert (heads_page.state.view.head_id, heads_page.state.view.token) == ((1, 4), 3)


def test_set_changes_all_fields_at_once(heads_page):
    heads_page.set(text="It sat.", head=(2, 3), lens="lines", predict="cover", marks="nothing that it can be")
    state = heads_page.state
    assert (state.text, state.view.layer, state.view.head, state.view.lens) == ("It sat.", 2, 3, "lines")
    assert heads_page.controls["predict"] == "cover" and heads_page.controls["marks"] == ()
    assert heads_page.address == {"model": "minilm", "text": "It sat.", "layer": "2", "head": "3", "lens": "lines",
                                  "predict": "cover"}


def test_proposed_choice_is_marked_until_chosen(heads_page):
    heads_page.set(lens="lines", passing=True)
    assert list(heads_page.address)[-1] == "passing"
    heads_page.set(lens="text")
    assert "passing" not in heads_page.address


@pytest.mark.parametrize("name", pages())
def test_url_restores_every_state(heads_page, name):
    page, control_values = PageContext(name, pages()[name][0], {}), frozenset({("elsewhere", "t", 2.0)})
    page.correct(control_values=control_values)
    switches = {control.name: not control.start for control in page.about.controls if isinstance(control, Switch)}
    page.set(text="It sat.", head=(2, 3), token=1, lens="lines", **switches)
    written, state = dict(heads_page.address), page.state
    page.set(text="Another.", head=(1, 1), token=0, lens="text", **dict.fromkeys(switches, False))
    heads_page.address.from_dict(written)
    page.restore()
    assert page.state == state and heads_page.visitor.restored
    page.set(lens="matrix")
    assert not heads_page.visitor.restored, "somebody changed it since"


def test_no_control_has_the_name_of_a_field_of_the_state():
    for name, (page, _) in pages().items():
        assert not {control.name for control in page.controls} & (QUESTION | VIEW | PRESENTING | {"passing"}), name
