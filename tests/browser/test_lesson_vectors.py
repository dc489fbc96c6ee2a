"""From text to vectors, in a real browser: a text of one's own in pieces, one merge more, a model's table and a word in
two contexts."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def test_a_text_becomes_pieces_merges_go_on_and_a_word_drifts_apart(watch, smollm2):
    prose = strings("lessons/vectors")
    seen = watch("/vectors?guess=d&typed=a+b+tokenizer+%2A苹%2A")
    main = seen.main
    section = main.locator(".st-key-section-pieces")
    expect(section).to_contain_text("17629", timeout=PATIENCE)   # the id of ##izer
    expect(section).to_contain_text("[UNK] 苹")
    expect(main.locator(".st-key-section-chinese tr")).to_have_count(4)
    main.get_by_role("button", name=prose["merges"]["on"], exact=True).click()
    expect(main.get_by_text("After 4 of", exact=False)).to_be_visible(timeout=PATIENCE)
    main.get_by_text(prose["table"]["switch"], exact=True).click()
    expect(main.locator(".st-key-chart-vectors-rows .clearhead-chart[data-drawn]")).to_be_visible(timeout=PATIENCE)
    expect(main.get_by_text("Nearest to bank is banks", exact=False)).to_be_visible(timeout=PATIENCE)
    expect(main.locator(".st-key-chart-vectors-contexts .clearhead-chart[data-drawn]")).to_be_visible(timeout=PATIENCE)
    main.locator(".st-key-section-contexts").get_by_text("苹果", exact=True).click()
    expect(main.get_by_text("has no piece for a character of 苹果")).to_be_visible(timeout=PATIENCE)
    main.locator(".st-key-section-table").get_by_text("SmolLM2", exact=True).click()
    expect(main.get_by_text("After the last block of SmolLM2", exact=False).first).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["done"] == ["4"] and seen.params()["open"] == ["1"]
