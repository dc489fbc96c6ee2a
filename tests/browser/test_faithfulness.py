"""The page Faithfulness in a real browser."""
import pytest
from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE

RESOLVER = "model=resolver-wide&text=the+giraffe+didn%27t+fear+the+wolf+over+there+since+it+was+far+too+big+."


# pairs of numbers in cells, and of labels, whose letters lie on one another; how many numbers there are
COVERED = """() => {
    const chart = document.querySelector(".st-key-chart-explain-picture .clearhead-chart");
    const seen = (query) => [...chart.querySelectorAll(query)].filter((text) => text.textContent.trim())
        .map((text) => ({ said: text.textContent, box: text.getBoundingClientRect() })).filter(({ box }) => box.width);
    const numbers = seen(".heatmap-label text");
    const all = [...numbers, ...seen(".xtick text, .ytick text, .annotation text")];
    const meet = ({ box: a }, { box: b }) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5 * Math.min(a.height, b.height);
    const covered = all.flatMap((one, at) => all.slice(at + 1).filter((other) => meet(one, other))
        .map((other) => [one.said, other.said]));
    return { covered, numbers: numbers.length };
}"""


FITTED = """() => {
    const chart = document.querySelector(".st-key-chart-explain-picture .clearhead-chart");
    return chart?.clientWidth < innerWidth && chart.querySelector(".main-svg")?.clientWidth === chart.clientWidth;
}"""


def at(seen, query: str, *figures: str):
    seen.page.goto(f"{seen.address}/explain?{query}")
    for name in figures:
        expect(seen.main.locator(f".st-key-chart-explain-{name} .clearhead-chart[data-drawn]")).to_be_visible(
            timeout=PATIENCE)
    seen.rest().fine()
    return seen.main


def test_vector_is_explained_readably_and_with_every_switch(seen):
    words = strings("faithfulness")
    main = at(seen, "layer=3&head=1&all=1", "picture", "agreement")
    expect(main.get_by_text("With 14 tokens, one unrelated ranking")).to_be_visible()
    for width, least in ((1440, 100), (390, 0)):
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.page.wait_for_function(FITTED, timeout=PATIENCE)
        found = seen.page.evaluate(COVERED)
        assert found["covered"] == [] and found["numbers"] >= least, (width, found)
    seen.page.set_viewport_size({"width": 1440, "height": 900})
    box = main.get_by_role("textbox", name=words["other"])
    box.fill("An animal stayed on its side of the street.")
    box.press("Enter")
    expect(main.get_by_text("The cosine with the other sentence is")).not_to_contain_text("0.8324", timeout=PATIENCE)
    for switch in ("swap", "share"):
        main.get_by_text(words[switch][switch], exact=True).click()
        expect(main.locator(f".st-key-chart-explain-{switch} .clearhead-chart[data-drawn]")).to_be_visible(
            timeout=PATIENCE)
    assert {"swap", "share", "other"} <= set(seen.rest().params())


@pytest.mark.rest
def test_noun_and_character_are_explained_over_sixty_texts(seen):
    words = strings("faithfulness")
    main = at(seen, RESOLVER, "picture", "agreement")
    expect(main.get_by_text("The logit of giraffe minus that of")).to_be_visible()
    main.get_by_role("button", name=words["set"]["run"].format(model="Resolver, wide", count=60)).click()
    expect(main.locator(".st-key-chart-explain-set .clearhead-chart[data-drawn]")).to_be_visible(timeout=PATIENCE)
    expect(main.get_by_text("ranked tokens each")).to_be_visible()
    expect(main.locator(".st-key-chart-explain-layers .clearhead-chart[data-drawn]")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["run"] == ["1"]
    main = at(seen, "model=induction&text=k7Qx2bVmk7Qx2", "picture", "agreement")
    main.get_by_role("textbox", name=words["word"]).fill("x")
    main.get_by_role("textbox", name=words["word"]).press("Enter")
    expect(main.get_by_text("The logit of x minus that of")).to_be_visible(timeout=PATIENCE)
