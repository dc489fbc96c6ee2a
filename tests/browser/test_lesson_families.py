"""Encoder, decoder, or both, in a real browser: another sentence, another French, a hidden word; and without SmolLM2 on
the disk."""
import pytest
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from tests.conftest import ROOT, Server
from viz.text import strings


@pytest.fixture
def app(tmp_path):
    """The app on a machine to which nothing was fetched."""
    server = Server(ROOT / "app.py", tmp_path / "server.log", CLEARHEAD_HOME=str(tmp_path)).wait()
    yield server
    server.stop()


def test_the_page_follows_the_sentence_and_says_how_to_get_the_decoder_that_is_missing(watch):
    prose = strings("lessons/families")
    seen = watch("/families?guess=b")
    expect(seen.main.get_by_text("python -m model fetch smollm2").first).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_text("They part at step")).to_contain_text("elle")
    expect(seen.main.locator(".clearhead-chart[data-drawn]")).to_have_count(9)
    french = seen.main.get_by_role("textbox", name=prose["factors"]["french"])
    french.fill("la rue")
    french.press("Enter")
    expect(seen.main.get_by_text("They part at step 1:")).to_contain_text("la", timeout=PATIENCE)
    assert seen.rest().params() == {"guess": ["b"], "french": ["la rue"]}
    sentence = seen.main.get_by_role("textbox", name=prose["widgets"]["say"])
    sentence.fill("Tired")
    sentence.press("Enter")
    expect(seen.main.get_by_text(prose["hidden"]["short"])).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    seen.main.get_by_text(prose["factors"]["whoses"]["decoder"]).click()
    expect(seen.main.get_by_text("The decoder has no source")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["say"] == ["Tired"]
