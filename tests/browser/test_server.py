"""The server for strangers, as server.py starts it, behind a path as behind a proxy: what it sends, what it refuses,
how it stops."""
import gzip
import re
import urllib.error
import urllib.request

import pytest

from tests import links
from tests.conftest import ROOT, Server
from viz.components.files import PLOTLY, version

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


def test_a_text_of_unknown_signs_is_drawn_where_no_other_model_can_be_offered(strangers):
    page, = links.opened(strangers.address, {"model": "induction"}, name="heads")
    assert page.wrong == [] and "[UNK]" in page.words and "read_with" not in page.ids


def test_a_lesson_draws_its_charts_under_the_path(browser, strangers):
    page, asked, wrong = browser.new_page(), [], []
    page.on("response", lambda answer: asked.append((answer.url.removeprefix(strangers.address), answer.status)))
    page.on("console", lambda message: wrong.append(message.text)
            if message.type == "error" and "404" not in message.text else None)   # Streamlit looks where its base is
    try:
        page.goto(strangers.address + "/softmax")
        page.wait_for_selector(".clearhead-chart[data-drawn]", timeout=PATIENCE)
    finally:
        page.close()
    assert (f"/browser/{version(PLOTLY)}/{PLOTLY}", 200) in asked
    assert (f"/browser/{version('js/shared.js')}/handles/handles.js", 200) in asked and wrong == []


def test_a_file_comes_compressed_and_for_a_year_and_none_of_another_version(strangers):
    own = f"/browser/{version('js/shared.js')}/js/shared.js"
    index = urllib.request.urlopen(strangers.address + "/").read().decode()
    streamlits = re.search(r'src="\./(static/js/index[^"]+)"', index).group(1)
    for path in (own, "/" + streamlits):
        request = urllib.request.Request(strangers.address + path, headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            headers, body = answer.headers, answer.read()
        with urllib.request.urlopen(strangers.address + path) as answer:
            plain = answer.read()
        assert headers["content-encoding"] == "gzip" and gzip.decompress(body) == plain
        assert "immutable" in headers["cache-control"] and "max-age=31536000" in headers["cache-control"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(strangers.address + own.replace(version("js/shared.js"), "0" * 16))


def test_every_answer_carries_the_headers(strangers):
    for path in ("/", "/_stcore/health", f"/browser/{version('js/shared.js')}/js/shared.js"):
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
