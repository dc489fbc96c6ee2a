"""Heads in a browser with a translator and a decoder: words, the pronoun, unknown words, and a sentence by clicks."""
import re
from urllib.parse import quote, urlencode

from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE
from tests.headline import TIRED


def test_words_are_chosen_and_the_pronoun_follows_the_adjective(watch):
    words = strings("translate")
    seen = watch()
    seen.page.goto(f"{seen.address}/translate?model=translator&text={quote(TIRED)}")
    main = seen.main
    expect(main.get_by_role("heading", name="to write il")).to_be_visible(timeout=PATIENCE)
    main.get_by_test_id("stExpander").get_by_text(strings("heads")["sections"]["decide"]).click()
    expect(main.get_by_text("Nothing silenced")).to_be_visible(timeout=PATIENCE)
    main.locator(".st-key-strip").get_by_text("traversé").click()
    expect(main.get_by_role("heading", name="to write traversé")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["token"] == ["5"]
    main.get_by_role("button", name=words["forward"]).click()
    expect(main.get_by_role("heading", name="to write la")).to_be_visible(timeout=PATIENCE)
    main.get_by_role("radio", name="wide", exact=True).last.click()
    expect(main.get_by_role("listitem").filter(has_text=words["this"])).to_contain_text(re.compile("elle était trop "
                                                                                                   "large"),
                                                                                        timeout=PATIENCE)
    expect(main.get_by_role("listitem").filter(has_text=words["twin"])).to_contain_text(
        re.compile("il était trop"), timeout=PATIENCE)
    main.get_by_role("button", name=words["play"]).click()
    seen.page.wait_for_function("() => new URLSearchParams(location.search).get('token') === '2'", timeout=PATIENCE)
    main.get_by_role("button", name=words["pause"]).click(timeout=PATIENCE)
    expect(main.get_by_role("button", name=words["play"])).to_be_visible(timeout=PATIENCE)
    seen.rest()


def test_unknown_words_are_named_and_known_ones_offered(watch):
    words = strings("vocabulary")
    seen = watch()
    seen.page.goto(f"{seen.address}/translate?model=translator&text={quote(TIRED.replace('animal', 'wombat'))}")
    main = seen.main
    expect(main.get_by_test_id("stAlert").first).to_contain_text("wombat", timeout=PATIENCE)
    expect(main.get_by_role("button", name=re.compile(r"Fetch Marian .* MB"))).to_be_visible()
    expect(main.locator("canvas")).to_have_count(0)   # nothing is drawn of words that mean nothing to the model
    seen.rest()
    main.get_by_test_id("stExpander").locator("summary").click()
    for phrase in ("the dog", "didn't cross", "the river", "because it was too", "tired"):
        main.get_by_test_id("stExpander").get_by_role("radio", name=phrase, exact=True).first.click()
        expect(main.locator("blockquote")).to_contain_text(phrase, ignore_case=True, timeout=PATIENCE)
        seen.rest()
    main.get_by_role("button", name=words["use"]).click()
    expect(main.get_by_test_id("stAlert")).to_have_count(0, timeout=PATIENCE)
    assert seen.rest().params()["text"] == ["The dog didn't cross the river because it was too tired."]


def test_token_is_written_and_undone(seen):
    page = seen.page
    page.goto(f"{seen.address}/next_word?" + urlencode({"model": "induction"}))
    # Blueskyin Blues: k came next
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Most probable", exact=True).click()
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_have_count(0, timeout=PATIENCE)
    expect(page.locator(".st-key-strip .from")).to_have_text("k")
    assert len(seen.rest().params()["continuation"]) == 1
    page.get_by_role("button", name="Back one token", exact=True).click()
    expect(page.get_by_role("button", name=re.compile(r"^k 0\.9\d\d$"))).to_be_visible(timeout=PATIENCE)
