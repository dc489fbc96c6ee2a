"""What was answered in a lesson is remembered in the browser, marked on the start page, and can be forgotten."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings

PROMPT = strings("lessons/softmax")["predict"]


def test_an_answer_is_marked_on_the_start_page_comes_back_after_a_reload_and_can_be_forgotten(watch):
    seen, start = watch("/softmax"), strings("lesson")["start"]
    seen.main.locator(".st-key-predict-guess label", has_text=PROMPT["answers"][PROMPT["right"]]["text"]).click()
    seen.rest()
    card = seen.open("/lessons").main.locator(".st-key-card-softmax")
    expect(card).to_contain_text(start["answered"].format(right=1, answered=1), timeout=PATIENCE)
    expect(seen.main.locator(".st-key-card-scale")).not_to_contain_text("right")
    card.get_by_role("button", name=start["open"]).click()
    expect(seen.main.get_by_text(strings("lesson")["yours"])).to_be_visible(timeout=PATIENCE)
    seen.open("/lessons").main.get_by_role("button", name=start["forget"]).click()
    expect(card).not_to_contain_text("right", timeout=PATIENCE)
    seen.rest().fine()
    assert seen.page.evaluate("() => localStorage.getItem('clearhead lessons')") is None
    expect(seen.open("/lessons").main.get_by_role("button", name=start["forget"])).to_have_count(0)
    assert "guess" not in seen.open("/softmax").params()
    expect(seen.main.get_by_text(strings("lesson")["yours"])).to_have_count(0)
