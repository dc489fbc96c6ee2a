"""The page What heads share: one text, a set, lines of one's own; the map's head and its neighbours."""
import re

from playwright.sync_api import expect

from viz.text import strings

PATIENCE = 120_000   # ms


def test_one_text_a_set_and_lines_of_ones_own(seen):
    page, main, words = seen.page, seen.main, strings("lessons/information")
    page.goto(seen.address + "/information?guess=b&layer=3&head=1")
    said = main.locator(".st-key-section-texts")
    expect(said.get_by_text(re.compile("72 heads of .* one text"))).to_be_visible(timeout=PATIENCE)
    seen.rest()
    nearest = main.locator(".st-key-section-map table").inner_text(timeout=PATIENCE)
    assert "Closest to 3·1" in nearest and len(nearest.strip().splitlines()) == 6
    main.get_by_role("radio", name=words["texts"]["names"]["set"]).click()
    expect(said.get_by_text(re.compile(f" {len(words['texts']['set'])} texts"))).to_be_visible(timeout=PATIENCE)
    main.get_by_role("radio", name=words["texts"]["names"]["own"]).click()
    expect(said.get_by_text(words["texts"]["nothing"])).to_be_visible(timeout=PATIENCE)
    said.get_by_role("textbox").fill("The cat sat.\n\nA dog ran to the old mill.")
    page.keyboard.press("Control+Enter")
    expect(said.get_by_text(re.compile(" 2 texts"))).to_be_visible(timeout=PATIENCE)
    main.get_by_role("radio", name=words["map"]["methods"]["classical"]).click()
    expect(main.locator(".st-key-section-map table")).to_be_visible(timeout=PATIENCE)
