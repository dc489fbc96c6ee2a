"""The page Claims in a real browser: all rows are shown at once, one is measured again, and its picture opens."""
import re

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def test_claim_is_measured_and_its_picture_opens(seen):
    words = strings("claims")
    seen.page.goto(seen.address + "/claims")
    expect(seen.main.get_by_text(words["question"])).to_be_visible(timeout=PATIENCE)
    seen.rest()
    verdict = re.compile("|".join(words["verdicts"].values()))
    assert seen.main.get_by_text(verdict).count() >= 17   # of every claim, measured beforehand
    row = seen.main.locator(".st-key-claim-special")
    row.get_by_role("button", name=words["again"]).first.click()
    expect(row.get_by_role("button", name=words["again"])).to_have_count(0, timeout=PATIENCE)
    expect(row.get_by_text(verdict)).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    row.get_by_role("button", name=words["open"]).click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*colour=special"), timeout=PATIENCE)
    expect(seen.main.locator(".st-key-head")).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
