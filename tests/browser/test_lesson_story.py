"""From letters to words in a browser: it plays, stops, steps and repeats, and keeps still for reduced motion."""
from urllib.parse import urlsplit

from playwright.sync_api import expect

from clearhead.viz.components.story import STEPS
from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE, Watch

WORDS, PROSE = strings("components")["story"], strings("lessons/story")
FAST = "() => { const late = setTimeout; window.setTimeout = (act, ms, ...more) => late(act, ms / 60, ...more); }"


def step_of(seen: Watch) -> int:
    return STEPS.index(seen.main.locator(".story").get_attribute("data-step"))


def test_story_plays_steps_writes_and_opens_lessons(watch):
    seen = watch("/story?by=stories")
    machine, play = seen.main.locator(".story"), seen.main.locator(".story .play")
    expect(play).to_have_text(WORDS["pause"], timeout=PATIENCE)
    seen.page.evaluate(FAST)
    seen.main.locator(".story .stop").nth(2).click()
    expect(play).to_have_text(WORDS["play"])   # whoever steps stops it
    expect(machine).to_have_attribute("data-step", "vectors")
    seen.page.wait_for_timeout(400)            # four steps' time
    assert step_of(seen) == 2
    seen.page.keyboard.press("ArrowRight")
    expect(machine).to_have_attribute("data-step", "places")
    expect(seen.main.locator(".story .neurons")).to_be_visible()
    expect(seen.main.locator(".story .output .inside")).to_have_css("opacity", "0")
    play.click()
    expect(machine).to_have_attribute("data-step", "word", timeout=PATIENCE)   # on to its end by itself
    expect(play).to_have_text(WORDS["again"])
    expect(seen.main.locator(".story .next")).to_have_text("carrots")
    expect(seen.main.locator(".story .notice")).to_contain_text("carrots")
    seen.main.locator(".story .write").press("Enter")
    expect(seen.main.locator(".story .line")).to_contain_text("eats carrots.", timeout=PATIENCE)
    assert len(seen.rest().params()["wrote"]) == 1
    expect(play).to_be_focused()
    seen.main.locator(".story .attention h4").click()
    expect(machine).to_have_attribute("data-step", "attention")
    seen.main.locator(".story select.head").select_option("-1")
    expect(seen.main.locator(".story .notice")).to_contain_text("on average", ignore_case=True, timeout=PATIENCE)
    assert seen.rest().params()["at_head"] == ["-1"] and step_of(seen) == STEPS.index("attention")
    seen.fine()
    seen.main.locator(".story .door").click()
    expect(seen.main.locator("h2", has_text=strings("lessons/inside")["question"])).to_be_visible(timeout=PATIENCE)
    assert urlsplit(seen.rest().page.url).path == "/inside"
