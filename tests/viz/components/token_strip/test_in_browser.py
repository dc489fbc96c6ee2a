"""The strip in a real browser."""
from playwright.sync_api import expect

from tests.viz.components.conftest import events, rest
from viz.components.component import Selection


def selections(*pairs):
    return [f"strip {Selection(*each)}" for each in pairs]


def test_clicks_focus_pair_and_clear(visit):
    page = visit()
    buttons = page.locator(".strip button")
    for at in (10, 2, 2, 10):
        buttons.nth(at).click()
        rest(page)
    assert events(page) == selections((10, None), (10, (10, 2)), (10, None), (None, None))
    buttons.nth(10).click()
    buttons.nth(4).click(modifiers=["Shift"])
    rest(page)
    assert page.locator(".strip [aria-pressed=true]").all_inner_texts() == ["'", "it"]
    assert page.locator(".strip .hint").inner_text() == "it (10) → ' (4). Click either again, or press Esc, to clear."
    expect(page.locator(".view .hot")).to_have_text(["it", "'"])


def test_keyboard_walks_and_chooses(visit):
    page = visit()
    expect(page.locator(".strip button[tabindex='0']")).to_have_count(1)
    page.locator(".strip button").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    rest(page)
    for key in ("End", "Enter"):
        page.keyboard.press(key)
    rest(page)
    for _ in range(2):   # the pair goes first, then the token
        page.keyboard.press("Escape")
        rest(page)
    assert events(page) == selections((2, None), (2, (2, 15)), (2, None), (None, None))
    expect(page.locator(".strip button[tabindex='0']")).to_have_count(1)


def test_any_text_stays_text(visit):
    page = visit("case=tricky", width=390)
    texts = page.locator(".strip button").all_inner_texts()
    assert texts[1] == "␣" and "<b>x</b>" in texts and "U+0000" in texts and "שלום" in texts and "U+202Ertl" in texts
    assert page.locator(".strip b").count() == 0
    expect(page.locator(".strip button.unknown")).to_have_text(["[UNK]"])
    expect(page.locator(".strip button.special")).to_have_text(["[CLS]", "[SEP]"])
    expect(page.locator(".strip .word").nth(2).locator("button")).to_have_text(["The", "##re"])
    boxes = [each.bounding_box() for each in page.locator(".strip button").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 24 and box["width"] >= 24
               for box in boxes)
