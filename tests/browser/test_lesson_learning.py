"""How it learns, in a real browser: the loss follows what is dragged, and a training runs to its end with the settings
of the page."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def test_the_loss_follows_the_handles_and_a_run_is_trained_on_the_page(watch):
    prose = strings("lessons/learning")
    seen = watch("/learning?guess=b&p=0.5,0.5,0,0&q=0.25,0.25,0.25,0.25&goal=smooth&eps=0.3")
    numbers = seen.main.locator(".st-key-numbers [data-testid=stMetricValue]")
    expect(numbers.nth(1)).to_have_text("2.000", timeout=PATIENCE)
    seen.main.get_by_role("button", name=prose["lengths"]["presets"]["same"]).click()
    expect(numbers.nth(1)).to_have_text("1.000", timeout=PATIENCE)
    seen.main.get_by_role("button", name=prose["lengths"]["presets"]["never"]).click()
    expect(numbers.nth(0)).to_have_text("∞", timeout=PATIENCE)
    seen.rest()
    assert seen.main.locator(".st-key-chart-learning-run-right").count() == 0
    seen.main.get_by_role("button", name=prose["run"]["go"]).click()
    expect(seen.main.locator(".st-key-chart-learning-run-right .clearhead-chart[data-drawn]")).to_be_visible(
        timeout=PATIENCE)
    assert seen.rest().params()["run"] == ["1"]
