"""A slider in a real browser: it tells while one drags, is not pulled back, and follows what else moves it."""
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT, Server
from viz.components.slider import message, parse_event

WORDS = ["none", "1", "2", "the", "the"]


def test_what_was_sent_is_an_option_of_now_or_nothing():
    assert parse_event({"at": 1, "word": "1", "count": 5}, WORDS) == 1
    assert parse_event({"at": 1, "word": "2", "count": 5}, WORDS) == parse_event({"at": 99, "word": "2", "count": 5},
                                                                   WORDS) == 2, "the options have changed"
    assert parse_event({"at": 4, "word": "the", "count": 5}, WORDS) == 4
    assert parse_event({"at": 1, "word": "the", "count": 5}, WORDS) is None
    assert parse_event({"at": True, "word": "1", "count": 5}, WORDS) is None
    assert parse_event({"at": 1, "word": "9", "count": 5}, WORDS) is None
    assert parse_event({"at": 1, "word": "1"}, WORDS) is None and parse_event(None, WORDS) is None
    assert message("x", WORDS, 1, None, {"count": 7})["heard"] == 7
    assert message("x", WORDS, 1, None, {"count": 1e9})["heard"] == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(ROOT / "tests" / "served.py", tmp_path_factory.mktemp("slider") / "server.log",
                    CLEARHEAD_TEST_PAGE=str(Path(__file__).parent / "slider_app.py")).wait()
    yield server
    server.stop()


@pytest.fixture
def visit(tabs, server):
    """visit(query) opens the page; nothing may go wrong on it."""
    pages, errors = [], []

    def go(query: str = ""):
        page = tabs.take()
        pages.append(page)
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.address}/?{query}")
        page.locator(".slider input").wait_for(state="attached", timeout=60_000)
        return page

    yield go
    for page in pages:
        tabs.give_back(page, server.address)
    assert not errors, errors


def shows(page, word: str, told: str) -> None:
    """The thumb stands at these words, for eyes and for readers, and the page was told so."""
    line = page.get_by_role("slider", name="Rows")
    expect(line).to_have_attribute("aria-valuetext", word)
    expect(page.locator(".said")).to_have_text(word)
    expect(page.get_by_test_id("stText")).to_have_text(f"told {told}".strip())


def test_keys_move_it_another_control_moves_it_back_and_the_same_place_is_told_again(visit):
    page = visit()
    shows(page, "3 rows", "")
    page.get_by_role("slider").press("ArrowRight")
    shows(page, "4 rows", "4")
    page.get_by_role("button", name="reset").click()
    shows(page, "3 rows", "4")
    page.get_by_role("slider").press("ArrowRight")
    shows(page, "4 rows", "4 4")
    page.get_by_role("slider").press("End")
    shows(page, "20 rows", "4 4 20")
    page.get_by_role("switch").press("Space")
    expect(page.get_by_role("slider")).to_have_attribute("max", "5")   # 0 to 4, and the 20 at which it stands
    page.get_by_role("slider").press("Home")
    shows(page, "0 rows", "4 4 20 0")
    expect(page.get_by_role("slider")).to_have_attribute("max", "4")
    expect(page.locator(".ends")).to_have_text("0 rows4 rows")


def test_it_tells_while_one_drags(visit):
    page = visit()
    box = page.get_by_role("slider").bounding_box()
    middle, step = box["y"] + box["height"] / 2, box["width"] / 20
    page.mouse.move(box["x"] + 3 * step, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 10 * step, middle)
    expect(page.get_by_test_id("stText")).to_have_text("told 10")
    page.mouse.move(box["x"] + 12 * step, middle)
    expect(page.get_by_test_id("stText")).to_have_text("told 10 12")
    page.mouse.up()
    shows(page, "12 rows", "10 12")


def test_the_keyboard_reaches_its_help_and_a_presentation_keeps_it(visit):
    page = visit()
    expect(page.locator(".about")).to_be_hidden()
    page.get_by_role("button", name="How many rows.").focus()
    expect(page.locator(".about")).to_be_visible()
    expect(visit("present").locator(".slider input")).to_be_visible()
