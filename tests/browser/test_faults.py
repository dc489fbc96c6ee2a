"""A server that crashes and restarts, and a reload during an answer."""
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE, Watch
from tests.conftest import ROOT, Server

pytestmark = pytest.mark.rest

LONG = "The animal didn't cross the street because it was too tired, and the cat saw it. " * 17


@pytest.fixture
def server(tmp_path):
    started = Server(ROOT / "app.py", tmp_path / "server.log").wait()
    yield started
    started.stop()


def sound(seen: Watch) -> None:
    expect(seen.page.locator("h5", has_text="layer").first).to_be_visible(timeout=PATIENCE)
    assert seen.rest().page.locator("[data-testid=stException]").count() == 0


def test_page_survives_server_restart_and_reload(browser, server):
    page = browser.new_page()
    seen = Watch(page, server.address)
    page.goto(f"{server.address}/?{urlencode({'text': 'A cat saw it.', 'layer': 3, 'head': 1})}")
    sound(seen)
    field = page.locator("[data-testid=stSidebar] textarea").first
    server.process.kill()
    server.process.wait()
    page.wait_for_timeout(500)
    server.start().wait()
    page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]", timeout=PATIENCE)
    sound(seen)
    expect(field).to_have_value("A cat saw it.")
    field.fill("A dog saw it first.")
    field.press("Control+Enter")
    expect(page.locator(".st-key-strip").get_by_text("dog")).to_be_visible(timeout=PATIENCE)
    sound(seen)
    assert field.input_value() == "A dog saw it first." and "A+dog" in page.url
    page.goto(f"{server.address}/?{urlencode({'text': LONG})}", wait_until="commit")
    page.wait_for_timeout(1500)
    page.reload()
    sound(seen)
    assert "Traceback" not in server.log.read_text(encoding="utf-8")
    page.close()
