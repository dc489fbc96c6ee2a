"""The page Generate in a real browser: switching to a model that predicts words, and a token written and undone."""
import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE


def test_token_is_written_and_undone(seen):
    page = seen.page
    page.goto(f"{seen.address}/next_word?" + urlencode({"model": "minilm", "text": "the cat sat on"}))
    expect(page.get_by_role("button", name="Most probable", exact=True)).to_be_visible(timeout=PATIENCE)   # of Stories
    page.get_by_role("button", name="Open Induction").click(timeout=PATIENCE)
    # Blueskyin Blues: k came next
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContentInfo")).to_have_count(0)
    assert seen.params()["model"] == ["induction"]
    page.get_by_role("button", name="Most probable", exact=True).click()
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_have_count(0, timeout=PATIENCE)
    page.get_by_role("button", name="Back one token", exact=True).click()
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_be_visible(timeout=PATIENCE)
