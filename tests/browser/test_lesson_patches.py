"""*Pictures as sentences* in a real browser: without places a shuffle changes nothing, and three networks are trained
on the page."""
import re

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE, Watch
from viz.text import strings

PROSE = strings("lessons/patches")


def curves(seen: Watch, key: str) -> list[list[float]]:
    """The heights of a chart's bars or lines, as the browser draws them."""
    return seen.page.evaluate("""(key) => document.querySelector(`.st-key-chart-patches-${key} .clearhead-chart`).data
        .map(({ y }) => Array.from(y?._inputArray ?? y ?? [], Number))""", key)


def test_without_places_a_shuffle_changes_nothing_and_three_networks_are_trained_on_the_page(watch):
    seen = watch("/patches?guess=a")
    seen.main.get_by_role("button", name=PROSE["widgets"]["again"]).click()
    expect(seen.page).to_have_url(re.compile(r"[?&]draw=1"), timeout=PATIENCE)
    seen.rest()
    for key, moves in (("unplaced", False), ("placed", True)):
        straight, shuffled = curves(seen, key)
        assert len(straight) == 10 and abs(sum(straight) - 1) < 1e-3
        assert (max(abs(one - other) for one, other in zip(straight, shuffled, strict=True)) > 1e-4) == moves
    seen.main.get_by_role("radio", name="300").click()
    seen.main.get_by_role("button", name=PROSE["data"]["go"]).click()
    expect(seen.main.get_by_text("From 300 digits")).to_be_visible(timeout=PATIENCE)
    ends = [line[-1] for line in curves(seen.rest(), "right") if line]
    assert len(ends) == 3 and all(end > 0.1 for end in ends), "better than a guess among ten"
    seen.fine()
