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
