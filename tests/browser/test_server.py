"""The server for strangers, as server.py starts it, behind a path as behind a proxy: what it sends, what it refuses,
how it stops."""
import re
import urllib.request

import pytest

from tests import links
from tests.conftest import ROOT, Server

PATIENCE = 60_000
# test_load.py has more
AROUND = ("/etc", "../..", "file:///etc/passwd", "somebody/model", "/tmp/model.gguf", "minilm/../smollm2")


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    server = Server(ROOT / "server.py", tmp_path_factory.mktemp("server") / "server.log",
                    STREAMLIT_SERVER_BASE_URL_PATH="demo",
                    CLEARHEAD_LONGEST_TEXT="300", CLEARHEAD_HOME=str(tmp_path_factory.mktemp("empty")))
    server.address += "/demo"
    yield server.wait()
    server.stop()


def test_strangers_see_heads_and_get_no_further(browser, strangers):
    page, wrong = browser.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if "Content Security Policy" in message.text
            else None)
    try:
        page.goto(f"{strangers.address}/?layer=3&head=1")
        page.wait_for_selector(".st-key-head", timeout=PATIENCE)
        field = page.locator("[data-testid=stSidebar] textarea").first
        field.fill("word " * 100)
        field.press("Control+Enter")
        alert = page.locator("[data-testid=stMain] [data-testid=stAlert]")
        alert.wait_for(timeout=PATIENCE)
        said = alert.inner_text()
        assert "500 characters" in said and "300" in said
        assert page.locator("[data-testid=stException]").count() == 0 and wrong == []
    finally:
        page.close()


@pytest.mark.parametrize("params, sentence", [({"model": model}, "catalogue only|without a name") for model in AROUND]
                         + [({"model": "gpt2"}, "downloads nothing"),
                            ({"text": "word " * 100}, "500 characters.* 300")], ids=str)
def test_a_link_leads_strangers_no_further(strangers, params, sentence):
    page, = links.opened(strangers.address, params)
    assert re.search(sentence, page.words), page.words
    assert "root:" not in page.words and "fetch" not in page.ids and "head" not in page.bodies


def test_every_answer_carries_the_headers(strangers):
    for path in ("/", "/_stcore/health"):
        with urllib.request.urlopen(strangers.address + path) as answer:
            headers = answer.headers
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"


def test_it_stops_when_told_and_logs_no_typed_text(strangers):
    with urllib.request.urlopen(strangers.address + "/?text=a+secret+sentence"):
        pass
    strangers.process.terminate()
    strangers.process.wait(20)
    assert "secret" not in strangers.log.read_text(encoding="utf-8")
    assert "Traceback" not in strangers.log.read_text(encoding="utf-8")
