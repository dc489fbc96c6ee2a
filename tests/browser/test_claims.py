"""The page Claims in a real browser: one row is measured as it opens, another on a click, and its picture opens."""
import re

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def test_a_row_is_measured_on_a_click_and_see_it_opens_heads(seen):
    words = strings("claims")
    seen.page.goto(seen.address + "/claims")
    expect(seen.main.get_by_text(words["question"])).to_be_visible(timeout=PATIENCE)
    seen.rest()
    assert seen.main.get_by_role("button", name=words["open"]).count() == 1   # opening measures one row and no more
    row = seen.main.locator(".st-key-claim-distance")
    row.get_by_role("button", name=words["measure"]).first.click()
    verdict = re.compile("|".join(words["verdicts"][name] for name in ("holds", "fails")))
    expect(row.get_by_text(verdict)).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    row.get_by_role("button", name=words["open"]).click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*colour=distance"), timeout=PATIENCE)
    expect(seen.main.locator(".st-key-head")).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
