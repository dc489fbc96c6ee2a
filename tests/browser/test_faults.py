"""Faults while somebody looks at a page: a server that dies and comes back, a reload in the middle, ten edits one after
the other."""
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT, Server

PATIENCE = 90_000
LONG = "The animal didn't cross the street because it was too tired, and the cat saw it. " * 24   # about 500 tokens


@pytest.fixture
def server(tmp_path):
    started = Server(ROOT / "app.py", tmp_path / "server.log").wait()
    yield started
    started.stop()


def sound(page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=PATIENCE)
    assert page.locator("[data-testid=stException]").count() == 0


def test_page_survives_server_restart_reload_and_rapid_edits(browser, server):
    page = browser.new_page()
    try:
        page.goto(f"{server.address}/?{urlencode({'text': 'A cat saw it.', 'layer': 3, 'head': 1})}")
        expect(page.locator("h5", has_text="layer 3").first).to_be_visible(timeout=PATIENCE)
        sound(page)

        field = page.locator("[data-testid=stSidebar] textarea").first
        for number in range(10):
            field.fill(f"A cat saw number{number} twice.")
            field.press("Control+Enter")
        page.wait_for_function("() => new URLSearchParams(location.search).get('text')?.includes('number9')",
                               timeout=PATIENCE)
        sound(page)
        assert parse_qs(urlsplit(page.url).query)["text"] == ["A cat saw number9 twice."]
        assert field.input_value() == "A cat saw number9 twice."

        server.process.kill()
        server.process.wait()
        page.wait_for_timeout(500)
        server.start().wait()
        page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]", timeout=PATIENCE)
        expect(page.locator("h5", has_text="layer 3").first).to_be_visible(timeout=PATIENCE)
        sound(page)
        expect(field).to_have_value("A cat saw number9 twice.")
        assert parse_qs(urlsplit(page.url).query)["text"] == ["A cat saw number9 twice."]
        field.fill("A dog saw it first.")
        field.press("Control+Enter")
        expect(page.locator(".st-key-strip").get_by_text("dog")).to_be_visible(timeout=PATIENCE)
        sound(page)
        assert field.input_value() == "A dog saw it first."
        assert parse_qs(urlsplit(page.url).query)["text"] == ["A dog saw it first."]

        page.goto(f"{server.address}/?{urlencode({'text': LONG[:1400]})}", wait_until="commit")
        page.wait_for_timeout(1500)
        page.reload()
        expect(page.locator("h5", has_text="layer").first).to_be_visible(timeout=PATIENCE)
        sound(page)
        assert "Traceback" not in server.log.read_text(encoding="utf-8")
    finally:
        page.close()
