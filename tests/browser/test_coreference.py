"""The page Coreference in a real browser: the famous picture, its twin, the set, one's own sentences."""

import pytest
from playwright.sync_api import expect

from model.studies.coreference import FOLDER
from tests.browser.watch import STILL

# of each picture with dots: how many words it has, pairs of words on one another, words behind dots
COVERED = """() => [...document.querySelectorAll("[data-testid=stMain] .clearhead-chart")].map((chart) => {
    const words = [...chart.querySelectorAll("text")].filter((text) => text.textContent.trim())
        .map((text) => ({ said: text.textContent, box: text.getBoundingClientRect() }))
        .filter(({ box }) => box.width);
    const dots = [...chart.querySelectorAll(".scatterlayer .point")].map((dot) => dot.getBoundingClientRect());
    const shared = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
    return { words: words.length, dots: dots.length, fits: chart.querySelector(".main-svg").clientWidth <= innerWidth,
        covered: words.flatMap(({ said, box }, at) => words.slice(at + 1)
            .filter((other) => shared(box, other.box) > 1.5).map((other) => [said, other.said])),
        hidden: words.filter(({ box }) => dots.some((dot) => shared(box, dot) > 2.5)).map(({ said }) => said) };
})"""
FITTED = """() => [...document.querySelectorAll("[data-testid=stMain] .clearhead-chart")].every((chart) =>
    chart.clientWidth < innerWidth && chart.querySelector(".main-svg")?.clientWidth === chart.clientWidth)"""
PATIENCE = 180_000   # ms: a set is 280 passes of the model on a busy machine


@pytest.fixture
def page(watch):
    """Opens the page."""
    def opener(query=""):
        seen = watch()
        opened = seen.page
        opened.goto(f"{seen.address}/coreference{query}")
        expect(opened.get_by_text("One sentence is an anecdote")).to_be_visible(timeout=PATIENCE)
        # the set is answered; before, a click may meet a page that is still growing
        opened.wait_for_function(STILL, arg=0, polling=40, timeout=PATIENCE)
        return opened

    return opener


def test_coreference_page_swaps_nouns_on_click_and_link_keeps_them(page):
    opened = page()
    expect(opened.get_by_text("The largest weight to a noun: 3·1")).to_be_visible()
    expect(opened.get_by_text("One pair is an anecdote")).to_be_visible()
    expect(opened.get_by_text("Each head was chosen on other frames").first).to_be_visible(timeout=PATIENCE)
    expect(opened.get_by_text("does not predict words")).to_be_visible(timeout=PATIENCE)
    for width in (1440, 900, 390):
        opened.set_viewport_size({"width": width, "height": 900})
        opened.wait_for_function(FITTED, timeout=PATIENCE)
        opened.wait_for_function(STILL, arg=width, polling=40, timeout=PATIENCE)
        for chart in (found := opened.evaluate(COVERED)):
            assert chart["fits"] and chart["covered"] == chart["hidden"] == [], (width, chart)
        assert [chart["dots"] for chart in found] == [72, 72] and all(chart["words"] > 12 for chart in found)
    opened.set_viewport_size({"width": 1440, "height": 900})
    opened.get_by_role("radio", name="street").first.click()
    opened.wait_for_url("**correct=street**", timeout=PATIENCE)
    twin = opened.locator("h5", has_text="The twin, with animal right")
    expect(twin).to_be_visible(timeout=PATIENCE)
    opened.goto("about:blank")
    opened.go_back()   # the link alone, in a session of its own
    expect(twin).to_be_visible(timeout=PATIENCE)


def test_sentences_of_ones_own(page):
    opened = page("?set=own")
    lines = (FOLDER / "coreference.csv").read_text(encoding="utf-8").splitlines()[:9]
    place = opened.locator("[data-testid=stMain] input[type=file]")
    place.set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()})
    expect(opened.get_by_text("Best of 72 on all sentences").first).to_be_visible(timeout=PATIENCE)
    place.set_input_files({"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"})
    expect(opened.get_by_text("has no column")).to_be_visible(timeout=PATIENCE)
