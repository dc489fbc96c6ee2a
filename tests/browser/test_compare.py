"""Compare in a real browser: a changed word, an edit, another model, another head; the link brings each back."""
import pytest
from playwright.sync_api import expect

from tests.browser.test_lessons import PATIENCE, Watch
from viz.text import strings


@pytest.fixture
def seen(browser, app):
    watching = Watch(browser, app.address)
    yield watching
    watching.fine()
    watching.context.close()


def at(seen, path: str):
    seen.page.goto(seen.address + path)
    expect(seen.main.locator(".st-key-figure-compare-grid [data-testid=stPlotlyChart]")).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    assert seen.main.locator("[data-testid=stPlotlyChart]").count() == 4
    return seen.main


def test_two_sentences_an_edit_two_models_and_two_heads(seen):
    words = strings("compare")
    main = at(seen, "/compare?layer=3&head=1")
    expect(main.get_by_text(words["most"].split("**")[0])).to_be_visible()
    expect(main.get_by_text("Cosine of the two sentence vectors")).to_be_visible()
    box = main.get_by_role("textbox", name=words["other"])
    box.fill("The animal didn't cross the long street because it was too tired.")
    box.press("Enter")
    expect(main.get_by_text("stand on one side only")).to_be_visible(timeout=PATIENCE)
    main.get_by_text(words["ways"]["edit"], exact=True).click()
    expect(main.get_by_text(words["unchanged"])).to_be_visible(timeout=PATIENCE)   # a silenced head itself looks where it looked
    assert seen.rest().params()["versus"] == ["edit"]
    at(seen, "/compare?versus=model&against=translator&layer=3&head=1&layer_b=1&head_b=2")
    at(seen, "/compare?versus=head&layer=3&head=1&layer_b=0&head_b=2")
    seen.page.goto(seen.address + "/heads?layer=3&head=1")
    seen.main.get_by_role("button", name=strings("heads")["compare_silenced"]).click(timeout=PATIENCE)
    expect(seen.main.locator(".st-key-figure-compare-grid [data-testid=stPlotlyChart]")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {"layer": ["3"], "head": ["1"], "versus": ["edit"]}
    main = at(seen, "/compare?model=induction&text=k7Qx2bVk7Q&other=k7Qx2bVk7")
    expect(main.locator("table")).to_contain_text("x")
