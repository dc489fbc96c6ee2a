"""Scripts in a text and in every parameter of a link never run (files: tests/viz/test_nothing_runs.py)."""
from urllib.parse import quote

from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE
from tests.hostile import RUNS

TEXT = " it ".join(RUNS)


def opened(watch):
    seen = watch()
    seen.page.on("dialog", lambda dialog: seen.wrong.append(f"dialog: {dialog.message}"))
    return seen


def nothing_ran(seen) -> None:
    assert seen.rest().page.evaluate("window.got") is None
    assert seen.page.locator("img[src=x], [data-testid=stException]").count() == 0


def test_hostile_link_runs_nothing(watch):
    seen, mask = opened(watch), quote(RUNS[0])
    masked = "".join(f"&{name}={mask}" for name in ("kind", "order", "overlay", "layer", "colour"))
    seen.page.goto(f"{seen.address}/heads?model=scratch&text={quote(TEXT)}&lens=text{masked}")
    expect(seen.main.get_by_text(strings("heads")["grid"], exact=True)).to_be_visible(timeout=PATIENCE)
    nothing_ran(seen)
    assert "kind" not in seen.params()
    assert seen.page.locator("[data-testid=stSidebar] textarea").first.input_value() == TEXT
    seen.page.goto(f"{seen.address}/heads?model={mask}&text=a")
    expect(seen.main.locator("[data-testid=stAlert]")).to_be_visible(timeout=PATIENCE)
    nothing_ran(seen)
    seen.fine()
