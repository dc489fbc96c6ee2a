"""The page What it costs: it measures only when asked, stops when told, and what is measured stays."""
import re

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE


def test_it_measures_when_asked_and_steps_through_the_tiles(seen):
    page, main = seen.page, seen.main
    page.goto(seen.address + "/cost?guess=b&width=128&again=7")
    expect(main.get_by_text("Nothing is measured yet")).to_be_visible(timeout=PATIENCE)
    seen.rest()
    main.locator(".st-key-section-measured [role=switch]").focus()
    page.keyboard.press("Space")
    expect(main.get_by_text(re.compile("What ends each curve: .*more memory"))).to_be_visible(timeout=PATIENCE)
    cells = main.locator(".st-key-section-measured table td").all_inner_texts()
    assert cells[0] == "plain attention" and cells[3].endswith("n^2.00") and len(cells) == 16, cells
    main.get_by_role("button", name="Stop").click()
    seen.rest()
    assert main.locator(".st-key-section-measured table td").all_inner_texts() == cells and "run" not in seen.params()
    for _ in range(2):
        main.get_by_role("button", name="Next tile").click()
        seen.rest()
    rows = main.locator(".st-key-section-tiles table tr").all_inner_texts()
    # four tiles of three keys; the answer is that of the plain softmax
    assert len(rows) == 5 and rows[-1].endswith("8.0395"), rows
    main.get_by_role("button", name="Falling").click()
    expect(main.locator(".st-key-section-tiles table")).not_to_contain_text("8.0395", timeout=PATIENCE)
