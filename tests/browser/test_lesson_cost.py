"""The page What it costs: it measures only when asked, stops when told, and what is measured stays."""
import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.browser.watch import STILL

PATIENCE = 90_000   # ms


def test_it_measures_when_asked_and_steps_through_the_tiles(browser, app):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(app.address + "/cost?guess=b&width=128&again=7")
    main = page.locator("[data-testid=stMain]")
    expect(main.get_by_text("Nothing is measured yet")).to_be_visible(timeout=PATIENCE)
    page.wait_for_function(STILL, timeout=PATIENCE)
    main.locator("[role=switch]").first.focus()
    page.keyboard.press("Space")
    expect(main.get_by_text(re.compile("What ends each curve: .*more memory"))).to_be_visible(timeout=PATIENCE)
    cells = main.locator(".st-key-section-measured table td").all_inner_texts()
    assert cells[0] == "plain attention" and cells[3].endswith("n^2.00") and len(cells) == 16, cells
    main.get_by_role("button", name="Stop").click()
    page.wait_for_timeout(250)
    page.wait_for_function(STILL, timeout=PATIENCE)
    assert main.locator(".st-key-section-measured table td").all_inner_texts() == cells and "run" not in parse_qs(urlsplit(page.url).query)
    for _ in range(2):
        main.get_by_role("button", name="Next tile").click()
        page.wait_for_timeout(250)
        page.wait_for_function(STILL, timeout=PATIENCE)
    rows = main.locator(".st-key-section-tiles table tr").all_inner_texts()
    assert len(rows) == 5 and rows[-1].endswith("8.0395"), rows    # four tiles of three keys; the answer is that of the plain softmax
    main.get_by_role("button", name="Falling").click()
    expect(main.locator(".st-key-section-tiles table")).not_to_contain_text("8.0395", timeout=PATIENCE)
    assert wrong == [] and main.locator("[data-testid=stException]").count() == 0
    context.close()
