"""Typed text stays the shown text: after a reload, in another tab, and in a shared link."""
import hashlib
from urllib.parse import urlencode

from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE, soon

WORDS = strings("frame")
# longer than an address shows as it is, and longer than it holds; each word is one token, for the page's sake
LONG = " ".join("it was" if number % 2 else "a" * 150 + "ä" * number for number in range(24))
TOO_LONG = "It was " + "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(160)) + "."


def text_of(seen):
    return seen.page.locator("[data-testid=stSidebar] textarea").first


def type_in(seen, text):
    text_of(seen).fill(text)
    text_of(seen).press("Control+Enter")
    return seen.rest()


def test_long_texts_survive_reload_and_back(watch):
    seen, other = watch("/corpus"), watch()
    type_in(seen, LONG)
    assert "text_z" in seen.params() and seen.params()["model"]
    other.page.goto(seen.page.url)
    expect(text_of(other)).to_have_value(LONG, timeout=PATIENCE)
    seen.page.reload()
    expect(text_of(seen)).to_have_value(LONG, timeout=PATIENCE)

    type_in(seen.rest(), TOO_LONG)
    assert "text_id" in seen.params() and len(seen.page.url) < 6_000
    expect(seen.page.get_by_text(WORDS["too_long"])).to_be_visible()
    seen.page.go_back()
    expect(text_of(seen)).to_have_value(LONG, timeout=PATIENCE)
    seen.rest().page.go_forward()
    expect(text_of(seen)).to_have_value(TOO_LONG, timeout=PATIENCE)

    other.page.goto(seen.page.url)   # another session, which has no such text
    told = WORDS["absent"].format(texts=WORDS["absent_fields"]["text"])
    expect(other.main.get_by_text(told)).to_be_visible(timeout=PATIENCE)
    assert text_of(other.rest()).input_value() == "" and other.params()["text_id"] == seen.params()["text_id"]
    other.page.reload()
    expect(other.main.get_by_text(told)).to_be_visible(timeout=PATIENCE)
    type_in(other.rest(), "A cat saw it.")
    assert other.params()["text"] == ["A cat saw it."] and "text_id" not in other.params()
    other.page.go_back()
    # page and address agree
    soon(lambda: text_of(other.rest()).input_value() == other.params().get("text", [""])[0], True)


def test_last_of_ten_rapid_edits_stays(watch):
    seen = watch("/corpus")
    for number in range(10):
        text_of(seen).fill(f"A cat saw number{number} twice.")
        text_of(seen).press("Control+Enter")
    seen.page.wait_for_function("() => location.search.includes('number9')", timeout=PATIENCE)
    assert seen.rest().params()["text"] == ["A cat saw number9 twice."]
    assert text_of(seen).input_value() == "A cat saw number9 twice."


def test_damaged_link_says_so(watch):
    seen = watch()
    seen.page.goto(f"{seen.address}/compare?{urlencode({'model': 'minilm', 'text_z': 'damaged', 'target_id': ''})}")
    told = WORDS["absent_damaged"].format(texts=" and ".join(WORDS["absent_fields"][field]
                                                             for field in ("target", "text")))
    expect(seen.main.get_by_text(told)).to_be_visible(timeout=PATIENCE)
    seen.rest().page.get_by_text(WORDS["absent_go_on"]).click()
    expect(seen.main.get_by_text("The text is empty")).to_be_visible(timeout=PATIENCE)
    assert not {"text_z", "text_id", "target_id"} & set(seen.rest().params())
