"""My lesson in the app: figures are added, ordered, captioned, kept after a reload, saved, loaded, presented."""
import base64
import hashlib
import io
import json
import re
import subprocess
import sys

import numpy as np
import pypdf
import pytest
from playwright.sync_api import expect

from clearhead.viz.export.handout.files import Handout, load, make_words, save
from tests.browser.watch import soon
from tests.fabricate import items
from tests.uploads import png


def add(page, key: str, count: int) -> None:
    page.locator(".st-key-to-list button").first.click()
    page.locator(f".st-key-add-screen-{key} button").click()
    page.get_by_text(f"Added: {count} entr").wait_for(timeout=30_000)
    expect(page.locator(".st-key-add-screen- button")).to_have_count(0)   # the menu closes


def numbers(page) -> list[str]:
    """Return what the handout's cards show, in order."""
    return page.locator("[class*=st-key-caption-] textarea").evaluate_all("all => all.map(each => each.value)")


def test_handout_is_made_saved_loaded_and_presented(seen, tmp_path):
    page, rest = seen.page, seen.rest
    page.goto(f"{seen.address}/heads", wait_until="commit")
    second = page.context.new_page()   # before either tab has a cookie
    second.goto(f"{seen.address}/handout", wait_until="commit")
    page.bring_to_front()
    page.wait_for_selector(".ch.view[data-drawn]", timeout=90_000)
    rest()
    add(page, "head", 1)
    add(page, "grid", 2)
    page.goto(f"{seen.address}/softmax?guess=c&t=0.5")
    page.locator(".st-key-chart-softmax-curves").wait_for(timeout=60_000)
    rest()
    add(page, "chart-softmax-curves", 3)
    add(page, "", 4)
    page.goto(f"{seen.address}/handout")
    page.locator(".ch.view[data-drawn]").wait_for(timeout=60_000)
    rest()
    second.bring_to_front()
    second.locator(".st-key-present-menu button").first.click()   # any run shows the one list of the browser
    second.locator(".st-key-present button").click()
    expect(second.get_by_text("1 of 4")).to_be_visible()
    second.close()
    before = numbers(page)
    assert before[0].startswith("Layer 3 · head 1") and "“it” gives “animal” weight 0.68" in before[0]
    assert before[1].startswith("All 72 heads of 6 layers") and "At T = 0.5" in before[2]
    links = page.get_by_text("Open this state").evaluate_all("all => all.map(each => each.closest('a').href)")
    assert "/softmax?" in links[2] and links[2].endswith("&t=0.5") and "model=" not in links[2], "no model was asked"

    handles = page.locator("[class*=st-key-drag-] button:visible")
    handles.nth(2).scroll_into_view_if_needed()
    handles.first.hover()
    below = handles.nth(1).bounding_box()
    page.mouse.down()
    page.mouse.move(below["x"] + 9, below["y"] + 100, steps=3)
    page.mouse.up()
    soon(lambda: numbers(page), [before[1], before[0], *before[2:]])
    handles.nth(1).press("ArrowUp")
    soon(lambda: numbers(page), before)
    handles.first.press("ArrowDown")   # which has moved, with the focus
    soon(lambda: numbers(page), [before[1], before[0], *before[2:]])
    page.get_by_label("Minutes").first.fill("7")
    page.get_by_label("Minutes").first.press("Enter")
    expect(page.get_by_text("4 entries, 7 minutes")).to_be_visible()
    page.locator("[class*=st-key-caption-] textarea").nth(2).fill("Sharper below one.")
    page.get_by_label("Title").fill("Softmax & heads")
    page.get_by_label("Title").press("Enter")
    rest()
    page.reload()
    page.locator(".ch.view[data-drawn]").wait_for(timeout=60_000)
    rest()
    ordered = [before[1], before[0], "Sharper below one.", before[3]]
    assert numbers(page) == ordered, "a reload finds it again"
    assert page.get_by_label("Title").input_value() == "Softmax & heads", "a reload finds it again"

    with page.expect_download() as saved:
        page.get_by_role("button", name="Save for later").first.click()
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    saved = json.loads(path.read_text(encoding="utf-8"))["items"]
    assert path.name == "Softmax-heads.handout.json" and [each["caption"] for each in saved] == ordered
    page.get_by_role("button", name="Add a text").click()
    page.get_by_role("textbox", name="Text").fill("Look.")
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Add", exact=True).click()
    soon(lambda: numbers(page), [*ordered, "Look."])
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    for way, count in (("Keep mine only", 5), ("Replace mine", 16), ("Undo", 5), ("Add to mine", 21), ("Undo", 5)):
        if way != "Undo":
            page.get_by_role("button", name="My ninety minutes").click()
        page.get_by_role("button", name=way).click()
        soon(lambda: len(numbers(page)), count)
        rest()
    page.get_by_text("Empty", exact=True).click()
    page.get_by_text("Remove all entries").click()
    rest()
    assert numbers(page) == []
    page.get_by_role("button", name="Load", exact=True).first.click()
    page.locator("[data-testid=stPopoverBody] input[type=file]").set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": b"[]"})
    page.get_by_text("not a handout saved by Clearhead").wait_for()
    rest()
    page.locator("[data-testid=stPopoverBody] input[type=file]").set_input_files(path)
    page.locator(".ch.view[data-drawn]").wait_for(timeout=60_000)
    rest()
    assert numbers(page) == ordered

    page.keyboard.press("Escape")
    page.mouse.click(700, 60)
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")   # kept until the first entry is there
    page.wait_for_url("**/handout?present=1&entry=2")
    rest()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/handout?present=1&entry=1")
    rest()
    assert not page.get_by_test_id("stTopNavLink").first.is_visible()
    assert page.locator("[class*=st-key-item-]").count() == 0
    page.locator(".ch.grid").wait_for()
    assert page.get_by_text("1 of 4").is_visible()
    expect(page.locator(".clearhead-line .clock")).to_have_text("0 / 7 min")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/handout?present=1&entry=2")
    rest()
    page.reload()
    expect(page.get_by_text("2 of 4")).to_be_visible()
    page.locator(".ch.view[data-drawn]").wait_for(timeout=60_000)
    rest()
    tip, box = page.locator(".view .tip b"), page.locator(".view .matrix > canvas").bounding_box()
    page.mouse.move(box["x"] + 2.5 / 16 * box["width"], box["y"] + 10.5 / 16 * box["height"])
    expect(tip).to_have_text("it (10) → animal (2)")   # the pointer is where the enlarged picture shows it
    page.keyboard.press("Escape")
    page.wait_for_url("**/handout")
    rest()
    expect(page.get_by_test_id("stTopNavLink").first).to_be_visible()


LONG = " ".join(hashlib.sha256(str(word).encode()).hexdigest()[:12] for word in range(700))   # too long for a link


@pytest.mark.rest
def test_saved_list_has_the_picture_of_every_entry(seen, browser, tmp_path):
    page, rest = seen.page, seen.rest
    drawn = png(np.arange(1728, dtype=np.uint8).reshape(24, 24, 3))
    page.goto(f"{seen.address}/heads?layer=3&head=1")
    page.wait_for_selector(".ch.view[data-drawn]", timeout=90_000)
    text = page.get_by_label("Text", exact=True)
    text.fill(LONG)
    text.press("Control+Enter")
    page.get_by_text("reads 512 of").wait_for(timeout=90_000)
    rest()
    add(page, "", 1)
    page.goto(f"{seen.address}/heads?model=marked-digit")
    page.wait_for_selector(".ch.grid", timeout=90_000)
    rest()
    page.locator(".st-key-ask_picture_file input").set_input_files(
        {"name": "own.png", "mimeType": "image/png", "buffer": drawn})
    rest()
    add(page, "", 2)
    seen.open("/handout")
    with page.expect_download() as kept:
        page.get_by_role("button", name="Save for later").first.click()
    screens = load(kept.value.path().read_bytes()).items
    picture = base64.b64decode(screens[1].said["picture"])
    assert screens[0].said["texts"] and hashlib.sha256(picture).hexdigest() in screens[1].link
    lost = make_words("screen", "", link=screens[0].link, title="Lost")
    words = (make_words("text", "Look."), make_words("question", "Why?", answer="So."),
             make_words("screen", "Sharper.", link=f"{seen.address}/softmax?guess=c&t=0.5", title="Softmax"))
    figures = items.head(), items.grid(), items.picture(), items.squares(), items.table()
    path = tmp_path / "all.handout.json"
    path.write_bytes(save(Handout("All", (*figures, *words, *screens, lost))))
    page.get_by_role("button", name="Load", exact=True).first.click()
    page.locator("[data-testid=stPopoverBody] input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Replace mine").click()
    page.keyboard.press("Escape")
    rest()
    page.get_by_role("button", name="Save as PDF").click()
    page.get_by_text("1 screen has no photograph").wait_for(timeout=300_000)
    rest()
    made = {}
    for name in ("HTML", "PDF"):
        with page.expect_download(timeout=120_000) as download:
            page.get_by_role("button", name=f"Save as {name}").click()
        made[name] = download.value.path().read_bytes()
    subprocess.run([sys.executable, "-m", "clearhead", "handout", str(path), "--html", str(tmp_path / "command.html")],
                   check=True, timeout=300)
    by_command = (tmp_path / "command.html").read_bytes()
    assert by_command.count(b'<img class="photograph"') == made["HTML"].count(b'<img class="photograph"') == 3
    written = made["HTML"].decode()
    assert "Sharper." in written and re.search(r'<img class="photograph" alt="Softmax\. One row[^"]* T = 0\.5', written)
    sizes = [image.image.size for each in pypdf.PdfReader(io.BytesIO(made["PDF"])).pages for image in each.images]
    assert sizes.count((1920, 1080)) == 3
    (tmp_path / "all.html").write_bytes(made["HTML"])
    offline = browser.new_context(offline=True, color_scheme="dark").new_page()
    offline.goto((tmp_path / "all.html").as_uri())
    taken = offline.locator("img.photograph")
    assert taken.evaluate_all("""all => all.map((each) => [each.naturalWidth, each.alt.length > 80,
        getComputedStyle(each).filter])""") == [[1920, True, "none"]] * 3
    expect(offline.locator("figure.screen").last).to_contain_text("no longer shows what was added")
    expect(offline.locator("figure[data-kind] .live")).to_have_count(5)
    offline.context.close()
