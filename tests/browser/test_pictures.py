"""Heads in a browser with the shipped model of pictures: click a patch, open a head, and restore both from a link."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from tests.model.tiny_prompted import save


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


def test_word_of_an_answer_shows_where_it_looked_and_what_changes_without_it(seen, tmp_path):
    seen.page.goto(f"{seen.address}/?model={save(tmp_path / 'llava_next', 'llava_next')}")
    strip, picture = seen.main.locator(".st-key-strip button"), seen.main.locator(".st-key-head-picture .ch.patches")
    expect(strip.first).to_have_text("▦ × 70", timeout=PATIENCE)
    expect(picture.locator(".names")).to_contain_text("question", timeout=PATIENCE)
    said = picture.locator(".say")
    expect(said).to_contain_text("which writes")
    before = said.inner_text()
    strip.last.click()
    expect(said).not_to_have_text(before, timeout=PATIENCE)
    seen.rest().fine()
    box = picture.locator("canvas").bounding_box()
    seen.page.mouse.click(box["x"] + box["width"] * 0.1, box["y"] + box["height"] * 0.1)
    expect(seen.main.get_by_text("the words that look at ▦₁ 0,0 most")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["pair"][0].endswith(",0")
    seen.main.locator(".st-key-ask-hidden button").click()
    expect(seen.main.locator(".st-key-heads-changed img")).to_be_visible(timeout=PATIENCE)
    seen.main.locator(".st-key-ask-silenced button").click()
    expect(seen.main.locator(".st-key-heads-changed")).to_contain_text("silenced", timeout=PATIENCE)
    seen.rest().fine()
