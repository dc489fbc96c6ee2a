"""The browser remembers a lesson's progress: resumed, marked on the start page, reset; *Show me* reveals it."""
from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE

PROMPT = strings("lessons/softmax")["predict"]


def test_lesson_progress_resumes_is_marked_and_can_be_reset(watch):
    seen, start = watch("/softmax"), strings("lesson")["start"]
    seen.main.locator(".st-key-predict-guess label", has_text=PROMPT["answers"][PROMPT["right"]]["text"]).click()
    seen.rest().main.get_by_role("slider", name=strings("lessons/softmax")["curves"]["t"]).first.press("ArrowRight")
    seen.page.wait_for_function("() => location.search.includes('t=')", timeout=PATIENCE)
    left = seen.rest().params()
    card = seen.open("/lessons").main.locator(".st-key-card-softmax")
    expect(card).to_contain_text(start["answered"].format(right=1, answered=1), timeout=PATIENCE)
    expect(seen.main.locator(".st-key-card-scale")).not_to_contain_text("right")
    card.get_by_role("button", name=start["continue"]).click()
    seen.page.wait_for_function("() => location.search.includes('t=')", timeout=PATIENCE)
    assert seen.rest().params() == left
    seen.page.goto(f"{seen.address}/softmax")   # as on the next day
    seen.page.wait_for_function("() => location.search.includes('t=')", timeout=PATIENCE)
    assert seen.rest().params() == left
    seen.main.locator(".st-key-start-again button").click()
    seen.page.wait_for_function("() => !location.search", timeout=PATIENCE)
    seen.rest().fine()
    assert seen.page.evaluate("() => localStorage.getItem('clearhead lessons')") in (None, "{}")
    expect(seen.open("/lessons").main.get_by_role("button", name=start["forget"])).to_have_count(0)


def test_show_me_reveals_all_lessons(watch):
    words, seen = strings("lesson"), watch("/cost")
    summary = strings("lessons/cost")["remember"][1][:40]
    expect(seen.main.get_by_text(summary)).to_have_count(0)
    seen.main.locator(".st-key-show-guess button").first.click()
    expect(seen.main.get_by_text(summary)).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {"show": ["1"]}
    seen.page.reload()
    expect(seen.main.get_by_text(summary)).to_be_visible(timeout=PATIENCE)
    seen.rest().follow_menu("kernels")   # with a curve that one may draw
    expect(seen.main.locator(".st-key-chart-kernels-copying")).to_be_visible(timeout=PATIENCE)
    expect(seen.rest().main.get_by_text(words["waits"])).to_have_count(0)
    stranger = watch("/cost?guess=b")
    assert stranger.page.evaluate("() => localStorage.getItem('clearhead lessons')") in (None, "{}")
    card = stranger.open("/lessons").main.locator(".st-key-card-cost")
    expect(card.get_by_role("button", name=words["start"]["open"])).to_be_visible(timeout=PATIENCE)
