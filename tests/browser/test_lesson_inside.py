"""Inside one head in a browser: the draggable head and the steps, by mouse, by keyboard and by link."""
import re

from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE

PROSE = strings("lessons/inside")


def test_arrow_reaches_its_goal(watch):
    seen = watch("/inside")
    tip = seen.main.locator(".arrows .arrow.q .hit")
    expect(tip).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_text("Not yet:")).to_be_visible(timeout=PATIENCE)
    expect(seen.main.locator(".arrows .mix")).to_be_hidden()
    box, weights = tip.bounding_box(), seen.main.locator(".arrows .weight")
    before = weights.all_inner_texts()
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] - 106, box["y"] - 128, steps=4)
    assert weights.all_inner_texts() != before   # before the server has answered
    seen.page.mouse.up()
    expect(seen.main.get_by_text("Goal reached:")).to_be_visible(timeout=PATIENCE)
    arrow = seen.main.locator(".arrows .arrow.q")
    said = arrow.get_attribute("aria-valuetext")
    arrow.focus()
    seen.page.keyboard.press("ArrowUp")
    expect(arrow).not_to_have_attribute("aria-valuetext", said)
    seen.page.wait_for_function("() => location.search.includes('hq=')", timeout=PATIENCE)
    seen.main.get_by_text(PROSE["predict"]["answers"][1]["text"]).click()
    expect(seen.main.locator(".arrows .mix")).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    moved = arrow.get_attribute("aria-valuetext")
    seen.page.reload()
    expect(arrow).to_have_attribute("aria-valuetext", moved, timeout=PATIENCE)


def test_steps_of_a_head_and_their_key_are_chosen(watch):
    seen = watch("/inside?guess=b&step=softmax")
    expect(seen.main.get_by_text("is the weight").first).to_be_visible(timeout=PATIENCE)
    seen.main.get_by_role("button", name="→").click()
    expect(seen.main.get_by_text("Each value is multiplied by its weight")).to_be_visible(timeout=PATIENCE)
    seen.page.wait_for_function("() => location.search.includes('step=mix')", timeout=PATIENCE)
    seen.main.locator(".st-key-inside_keys button", has_text="street").click()
    seen.page.wait_for_function("() => /[?&]to=/.test(location.search)", timeout=PATIENCE)
    seen.rest().main.locator(".st-key-further-geometry summary").click()
    expect(seen.main.locator(".st-key-section-geometry").get_by_text(re.compile("street 8"))).to_be_visible(
        timeout=PATIENCE)
    seen.rest().fine()
