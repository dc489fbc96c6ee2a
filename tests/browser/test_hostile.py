"""Script in a text and in every parameter of a link, in a real browser: it is shown and never runs. What leaves
the page: tests/viz/test_nothing_runs.py."""
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from tests.hostile import RUNS
from viz.text import strings

TEXT = " it ".join(RUNS)


@pytest.fixture
def seen(watch):
    opened = watch()
    opened.page.on("dialog", lambda dialog: opened.wrong.append(f"dialog: {dialog.message}"))
    return opened


def ran(page) -> bool:
    return page.evaluate("window.got !== undefined")


def test_a_hostile_link_opens_a_page_in_which_nothing_runs(seen):
    mask = quote(RUNS[0])
    masked = "".join(f"&{name}={mask}" for name in ("kind", "order", "overlay", "layer", "colour"))
    seen.page.goto(f"{seen.address}/heads?model=scratch&text={quote(TEXT)}&lens=text{masked}")
    expect(seen.main.get_by_text(strings("heads")["grid"], exact=True)).to_be_visible(timeout=PATIENCE)
    seen.rest().fine()
    assert not ran(seen.page) and seen.page.locator("img[src=x]").count() == 0 and "kind" not in seen.params()
    assert seen.page.locator("[data-testid=stSidebar] textarea").first.input_value() == TEXT
    few = quote(" it ".join(RUNS[:3]))
    for query, follower in (f"compare?versus=text&other={mask}",
                            "corpus"), (f"coreference?correct={mask}", "next_word"):
        seen.page.goto(f"{seen.address}/{query}&model=scratch&text={few}")
        for name in (query.split("?")[0], follower):   # the text goes along with the menu
            if name == follower:
                seen.follow_menu(name)
            expect(seen.main.get_by_role("heading", name=strings(name)["question"])).to_be_visible(timeout=PATIENCE)
            assert not ran(seen.rest().page) and seen.page.locator("img[src=x], [data-testid=stException]").count() == 0
    seen.page.goto(f"{seen.address}/heads?model={mask}&text=a")
    expect(seen.main.locator("[data-testid=stAlert]")).to_be_visible(timeout=PATIENCE)
    assert not ran(seen.page) and seen.wrong == []
