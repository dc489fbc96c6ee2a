"""Script in a text and in every parameter of a link, in a real browser: it is shown and never runs, in the page or in
what leaves it."""
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from model.ask import sources
from model.core.view import View
from tests.browser.watch import PATIENCE
from tests.hostile import RUNS
from viz.export import export, formats
from viz.figures.bars import bars
from viz.print.options import Options
from viz.text import strings
from viz.widgets.figure import html

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
                            "measures"), (f"coreference?correct={mask}", "next_word"):
        seen.page.goto(f"{seen.address}/{query}&model=scratch&text={few}")
        for name in (query.split("?")[0], follower):   # the text goes along with the menu
            if name == follower:
                seen.follow_menu(name)
            expect(seen.main.get_by_role("heading", name=strings(name)["question"])).to_be_visible(timeout=PATIENCE)
            assert not ran(seen.rest().page) and seen.page.locator("img[src=x], [data-testid=stException]").count() == 0
    seen.page.goto(f"{seen.address}/heads?model={mask}&text=a")
    expect(seen.main.locator("[data-testid=stAlert]")).to_be_visible(timeout=PATIENCE)
    assert not ran(seen.page) and seen.wrong == []


def test_what_leaves_the_page_is_opened_directly_and_nothing_runs(browser, tmp_path):
    record = sources.ask(sources.open_query("scratch", TEXT)).result(60)
    files = {f"{lens}{suffix}": export(suffix, record, View(lens=lens, token=1), Options(link="http://x/?a=<b>"))
             for suffix in (".svg", ".html") for lens in ("matrix", "lines", "text")
             if lens in formats()[suffix][0].subjects}
    files |= {f"grid{suffix}": export(suffix, record, View(), Options(grid=True)) for suffix in (".svg", ".html")}
    files["figure.html"] = html(bars("light", list(RUNS), {RUNS[0]: [1.0] * len(RUNS)}, axes=(RUNS[1], RUNS[2])))
    context, wrong = browser.new_context(offline=True), []
    context.on("dialog", lambda dialog: wrong.append(dialog.message))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        page = context.new_page()
        page.goto((tmp_path / name).as_uri())
        page.wait_for_timeout(400)
        assert not ran(page), name
        # parsed as what it is
        assert page.evaluate("document.documentElement.nodeName").lower() == name.rsplit(".", 1)[1], name
        assert page.evaluate(
            "document.querySelector('parsererror, [onload], [onerror], a[href^=javascript]') === null"), name
        page.close()
    context.close()
    assert wrong == []
