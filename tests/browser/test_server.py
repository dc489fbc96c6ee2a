"""The server for strangers, as server.py starts it, behind a path as behind a proxy: what it sends, what it refuses, how it stops."""
import signal
import urllib.request
from urllib.parse import urlencode

import pytest

from tests.conftest import ROOT, Server

PATIENCE = 60_000
AROUND = ("/etc", "../..", "file:///etc/passwd", "somebody/model", "/tmp/model.gguf", "minilm/../smollm2")   # test_load.py has more


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    server = Server(ROOT / "server.py", tmp_path_factory.mktemp("server") / "server.log", STREAMLIT_SERVER_BASE_URL_PATH="demo",
                    CLEARHEAD_LONGEST_TEXT="300", CLEARHEAD_HOME=str(tmp_path_factory.mktemp("empty")))
    server.address += "/demo"
    yield server.wait()
    server.stop()


def opened(page, strangers, **params) -> str:
    """The page's text once it has come to rest."""
    page.goto(f"{strangers.address}/?{urlencode(params)}")
    page.wait_for_selector("[data-testid=stMain] [data-testid=stAlert], .st-key-head", timeout=PATIENCE)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=PATIENCE)
    return page.locator("[data-testid=stMain]").inner_text()


def test_strangers_see_heads_and_get_no_further(browser, strangers):
    page, wrong = browser.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if "Content Security Policy" in message.text else None)
    try:
        assert "layer 3 · head 1" in opened(page, strangers, layer=3, head=1)
        for model in AROUND:
            said = opened(page, strangers, model=model)
            assert "catalogue only" in said or "without a name" in said, (model, said)
            assert "root:" not in said and page.locator("[data-testid=stException], .st-key-fetch").count() == 0
        said = opened(page, strangers, model="gpt2")
        assert "downloads nothing" in said and page.locator(".st-key-fetch").count() == 0
        said = opened(page, strangers, text="word " * 100)
        assert "500 characters" in said and "300" in said
        assert wrong == []
    finally:
        page.close()


def test_every_answer_carries_the_headers(strangers):
    for path in ("/", "/_stcore/health"):
        with urllib.request.urlopen(strangers.address + path) as answer:
            headers = answer.headers
        assert "unsafe-eval" not in headers["content-security-policy"] and "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"


def test_it_stops_when_told_and_logs_no_typed_text(strangers):
    with urllib.request.urlopen(strangers.address + "/?text=a+secret+sentence"):
        pass
    strangers.process.send_signal(signal.SIGTERM)
    strangers.process.wait(20)
    assert "secret" not in strangers.log.read_text() and "Traceback" not in strangers.log.read_text()
