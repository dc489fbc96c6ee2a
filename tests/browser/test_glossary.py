"""The glossary in a browser: equations are rendered, the search filters, links open entries and entries pages."""
from playwright.sync_api import expect

from clearhead.viz.app.glossary import search, terms
from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE


def test_glossary_is_drawn_searched_and_linked(watch):
    words = strings("glossary")
    seen = watch("/glossary?term=entropy")
    expect(seen.main.locator(".st-key-opened")).to_contain_text(terms()["entropy"].title)
    expect(seen.main.locator("[class*=st-key-term-]")).to_have_count(len(terms()))
    expect(seen.main.locator(".katex-display")).to_have_count(len(terms()))
    expect(seen.main.locator(".katex-error")).to_have_count(0)
    assert seen.page.title() == "Glossary · Clearhead"
    expect(seen.page.locator("[data-testid=stLogo], [data-testid=stHeaderLogo]").first).to_be_visible()
    asked = seen.page.locator("[data-testid=stSidebar] :is(input, textarea, [data-testid=stSelectbox])")
    expect(asked).to_have_count(0)   # a page without a model shows none
    box = seen.main.get_by_role("textbox", name=words["find"])
    box.fill("shannon")
    box.press("Enter")
    expect(seen.main.get_by_text(words["count"].format(count=len(search("shannon")),
                                                       total=len(terms())))).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {"term": ["entropy"], "find": ["shannon"]}
    seen.main.get_by_role("button", name=words["close"]).click()
    expect(seen.main.locator(".st-key-opened")).to_have_count(0, timeout=PATIENCE)
    link = seen.main.locator(".st-key-term-shannon-entropy a", has_text="Softmax").first.get_attribute("href")
    expect(seen.open("/" + link.lstrip("/")).main.locator("h2").first).to_have_text(
        strings("lessons/softmax")["question"])
