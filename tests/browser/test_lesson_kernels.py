"""From kernels to attention, in a real browser: the conditions of the prompt show on the picture, and three scores are
trained on the page."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def test_keys_of_equal_length_agree_with_the_kernel_and_three_scores_are_trained(watch):
    prose = strings("lessons/kernels")
    seen = watch("/kernels?guess=c&dk=16&t=0.1")
    notes = seen.main.locator("li", has_text="Kernel and dot product differ")
    expect(notes).to_be_visible(timeout=PATIENCE)
    seen.main.get_by_text(prose["relabel"]["key_names"]["circle"]).click()
    expect(notes).to_contain_text("differ by 0.0% of the weight", timeout=PATIENCE)
    handle = seen.main.locator(".drag [role=slider]").first
    numbers_of_points_lie_on_nothing_until_one_comes_near(seen)
    handle.focus()
    seen.page.keyboard.press("ArrowUp")
    seen.page.wait_for_function("() => location.search.includes('p=')", timeout=PATIENCE)
    expect(seen.main.locator("li", has_text="of 35 are flipped")).to_contain_text(
        "At T = 0.1 the right pair", timeout=PATIENCE)
    seen.main.get_by_text(prose["scores"]["train"], exact=True).click()
    expect(seen.main.locator("table", has_text="Bits before").locator("tr")).to_have_count(4, timeout=PATIENCE)
    assert seen.rest().params() | {"p": 0} == {"guess": ["c"], "dk": ["16"], "t": ["0.1"], "keys": ["circle"], "p": 0,
                                               "train": ["1"]}


def numbers_of_points_lie_on_nothing_until_one_comes_near(seen) -> None:
    shown = """() => [...document.querySelectorAll('.drag')].flatMap(each => [...each.querySelectorAll('.number')])
        .filter(each => getComputedStyle(each).visibility === 'visible')
        .map(each => each.getBoundingClientRect().toJSON())"""
    boxes = seen.page.evaluate(shown)
    for place, one in enumerate(boxes):
        for other in boxes[place + 1:]:
            assert one["right"] <= other["left"] or other["right"] <= one["left"] or one["bottom"] <= other[
                "top"] or other["bottom"] <= one["top"]
    hidden = seen.main.locator(".drag .crowded").first
    expect(hidden.locator(".number")).to_be_hidden()
    hidden.focus()
    expect(hidden.locator(".number")).to_be_visible()
