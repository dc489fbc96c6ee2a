"""Heads in a browser with the shipped model of pictures: click a patch, open a head, and restore both from a link."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE


def test_clicked_patch_is_shown_for_every_head(seen):
    seen.page.goto(seen.address + "/research")
    card = seen.main.locator(".st-key-open-pictures button")
    expect(card).to_be_visible(timeout=PATIENCE)
    seen.page.wait_for_function("() => [...document.images].every((image) => image.complete)")
    card.click()
    picture = seen.main.locator(".st-key-head-picture .ch.patches[data-drawn]")
    expect(picture).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    box = picture.locator("canvas").bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.7)
    expect(picture.locator(".tip")).to_contain_text("patch 3,1")
    expect(picture.locator(".tip")).to_contain_text("multiple of uniform")
    seen.page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.7)
    expect(picture.locator(".say")).to_contain_text("From patch 3,1", timeout=PATIENCE)
    expect(seen.main.locator(".st-key-grid .ch.grid")).to_have_attribute("data-heads", "2")
    params = seen.rest().params()
    assert params["token"] == ["17"] and len(params["image"][0]) == 64


def test_word_of_an_answer_shows_where_it_looked_and_what_changes_without_it(seen):
    seen.page.goto(seen.address + "/?model=picture-questions&layer=3&head=0")
    strip, picture = seen.main.locator(".st-key-strip button"), seen.main.locator(".st-key-head-picture .ch.patches")
    expect(picture.locator(".say")).to_contain_text("From “7” (which writes “5”), most to ▦ 0,2", timeout=PATIENCE)
    assert "|".join(strip.all_inner_texts()) == "[BOS]|▦ × 16|Which|digit|is|left|of|the|7|5|[EOS]"
    expect(picture.locator(".names")).to_contain_text("question")
    seen.rest()
    strip.last.click()
    expect(picture.locator(".say")).to_contain_text("From “5” (which writes “[EOS]”)", timeout=PATIENCE)
    strip.nth(9).click()
    expect(picture.locator(".say")).to_contain_text("From “7”", timeout=PATIENCE)
    box = picture.locator("canvas").bounding_box()
    seen.page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.1)
    expect(seen.main.get_by_text("the words that look at ▦ 0,2 most: 7")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["pair"] == ["23,3"]
    changed = seen.main.locator(".st-key-heads-changed")
    for name in ("hidden", "silenced"):
        seen.main.locator(f".st-key-ask-{name} button").click()
        said = "Hide ▦ 0,2: “5”" if name == "hidden" else "3·0 silenced: “5”"
        expect(changed).to_contain_text(said, timeout=PATIENCE)
        expect(changed).to_contain_text("becomes")
    seen.rest().fine()
