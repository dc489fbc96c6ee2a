"""A slider in a real browser: it tells while one drags, is not pulled back, and follows what else moves it."""
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT, Server
from viz.components.slider.payload import message, parse_event

WORDS = ["none", "1", "2", "the", "the"]
# what is sent, and where the thumb stands, as one drags while answers are on their way
PLAY = """async ({ slider }) => {
    const draw = await slider();
    const parentElement = document.body, setStateValue = (_, value) => sent.push(value);
    const sent = [], counts = [], places = {};
    const answer = (at, heard, name = "", words = [..."abcdefgh"]) => {
        draw({data: [{label: "x", help: "", words, at, heard}], parentElement, setStateValue});
        places[name] = +document.querySelector("input").value;
    };
    const move = (to) => {
        const line = document.querySelector("input");
        line.value = to;
        line.dispatchEvent(new Event("input"));
        counts.push(sent.length);
    };
    answer(3, 0);
    delete places[""];
    [4, 5, 6].forEach(move);
    answer(4, sent[0].count, "while it waits to tell");
    await new Promise((done) => setTimeout(done, 200));
    counts.push(sent.length);
    answer(4, sent[0].count, "before it was heard");
    answer(6, sent[1].count, "heard");
    answer(2, sent[1].count, "moved by another control");
    answer(1, sent[1].count, "fewer options", ["a", "b"]);
    return [counts, places, sent];
}"""


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


def test_an_answer_on_its_way_does_not_pull_the_thumb_back_and_the_last_place_is_told(run_module):
    counts, places, sent = run_module("slider/slider.js", PLAY)
    assert counts == [1, 1, 1, 2], "at once, then not more than one in a while, and the last one"
    assert [(each["at"], each["word"]) for each in sent] == [(4, "e"), (6, "g")] and sent[0]["count"] < sent[1]["count"]
    assert places == {"while it waits to tell": 6, "before it was heard": 6, "heard": 6, "moved by another control": 2,
                      "fewer options": 1}


def test_the_keyboard_reaches_its_help_and_a_presentation_keeps_it(visit):
    page = visit()
    expect(page.locator(".about")).to_be_hidden()
    page.get_by_role("button", name="How many rows.").focus()
    expect(page.locator(".about")).to_be_visible()
    expect(visit("present").locator(".slider input")).to_be_visible()
