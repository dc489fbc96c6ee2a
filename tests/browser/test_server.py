"""The public server behind a path as behind a proxy: what it sends, what it refuses, and how it stops."""
import gzip
import re
import signal
import socket
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect

from clearhead.viz.components.files import PLOTLY, version
from tests import links
from tests.conftest import ROOT, Server
from tests.uploads import Visitor, npz, png, visited

PATIENCE = 60_000


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    server = Server(ROOT / "server.py", tmp_path_factory.mktemp("server") / "server.log",
                    STREAMLIT_SERVER_BASE_URL_PATH="demo",
                    CLEARHEAD_LONGEST_TEXT="300", CLEARHEAD_SESSION_MB="2.5", CLEARHEAD_PICTURE_SESSION_MB="0.004",
                    CLEARHEAD_HOME=str(tmp_path_factory.mktemp("empty")))
    server.address += "/demo"
    yield server.wait()
    server.stop()


@pytest.mark.parametrize("params, sentence", [   # test_load.py has more models
    ({"model": "/etc"}, "its catalogue"), ({"model": "somebody/model"}, "its catalogue"),
    ({"model": "gpt2"}, "downloads nothing"), ({"text": "word " * 100}, "500 characters.* 300")], ids=str)
def test_links_of_strangers_are_limited(strangers, params, sentence):
    page, = links.opened(strangers.address, params)
    assert re.search(sentence, page.words), page.words
    assert "root:" not in page.words and "fetch" not in page.ids and "head" not in page.bodies


def test_lesson_draws_under_the_path(browser, strangers):
    page, asked, wrong = browser.new_page(), [], []
    page.on("response", lambda answer: asked.append((answer.url.removeprefix(strangers.address), answer.status)))
    page.on("console", lambda message: wrong.append(message.text)
            if message.type == "error" and "404" not in message.text else None)   # Streamlit looks where its base is
    try:
        page.goto(strangers.address + "/softmax?guess=c")
        page.wait_for_selector(".clearhead-chart[data-drawn]", timeout=PATIENCE)
    finally:
        page.close()
    assert (f"/browser/{version(PLOTLY)}/{PLOTLY}", 200) in asked
    assert (f"/browser/{version('js/shared.js')}/handles/handles.js", 200) in asked and wrong == []


def test_files_are_compressed_and_cached(strangers):
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


def test_large_file_is_refused_whatever_sends_it(strangers):
    async def act(visitor):
        sizes = (31 * 2**20, 32 * 2**20 + 1, 100 * 2**20)
        return visitor.megabytes["ask_npz"], [(await visitor.put(bytes(size)))[0] for size in sizes]

    assert visited(strangers.address, act) == (32, [204, 413, 413])


def test_lost_file_is_reported(strangers):
    tokens = [f"t{number}" for number in range(64)]
    files = [npz(np.random.default_rng(seed).dirichlet(np.ones(64), (8, 8, 64)), tokens) for seed in range(3)]
    models, told = [], []

    async def act(visitor):
        for number, content in enumerate(files):   # 1 MB each
            assert await visitor.drop("ask_npz", content, f"mine{number}.npz") == 204
            models.append(parse_qs(visitor.query)["model"][0])
            told.append(list(visitor.wrong))

    visited(strangers.address, act)
    assert told == [[], [], []] and len(set(models)) == 3
    lost, there = links.opened(strangers.address, {"model": models[0], "text": "x"},
                               {"model": models[2], "text": " ".join(tokens)})
    assert "no longer in this server's memory" in lost.words and "open it again" in lost.words
    assert "dropped" not in there.words and "head" in there.bodies


def test_lost_picture_is_reported_on_every_page(strangers):
    async def act(visitor):
        brought = []
        for number in range(4):   # 2 KB each
            noise = np.random.default_rng(number).integers(0, 256, (28, 28), np.uint8)
            assert await visitor.drop("ask_picture_file", png(noise), f"mine{number}.png") == 204
            brought.append(parse_qs(visitor.query)["image"][0])
        return visitor.megabytes["ask_picture_file"], brought

    stated, brought = visited(strangers.address, act, "model=marked-digit", "heads")
    assert stated == 32 and len(set(brought)) == 4
    heads, there = (links.opened(strangers.address, {"model": "marked-digit", "image": image}, name="heads")[0]
                    for image in (brought[0], brought[3]))
    assert "no longer in this server's memory" in heads.words and "open it again" in heads.words
    assert "head-picture" in heads.bodies   # the answer is still there
    assert "dropped" not in there.words and "head-picture" in there.bodies


MARKER = "quokka"   # typed, uploaded and sent in every bad request below


def bad_requests(address: str) -> None:
    """Send what scanners and broken clients send, a hundred times each."""
    place = urlsplit(address)
    raw = (f"{MARKER}\r\n\r\n", f"GET /{MARKER} HTTP/1.1\r\nHost: x\r\nContent-Length: {MARKER}\r\n\r\n",
           f"GET {place.path}/_stcore/auth/login?x={MARKER} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
           f"GET {place.path}/_stcore/stream HTTP/1.1\r\nHost: x\r\nOrigin: http://evil.example\r\n"
           "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
           "Sec-WebSocket-Version: 13\r\n\r\n")
    for request in raw * 100:
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            connection.sendall(request.encode())
            connection.recv(100)


async def bad_messages(visitor) -> None:
    """Send a text, a click and invalid bytes in open sessions."""
    await visitor.type("ask_text", f"{MARKER} sat on the mat")
    await visitor.until(lambda: "head" in visitor.bodies and not visitor.running)
    await visitor.drop("ask_npz", MARKER.encode(), f"{MARKER}.npz")
    await visitor.drop("ask_npz", MARKER.encode(), f"no.{MARKER}")   # which Streamlit takes for the page's own fault
    assert "has encountered an error" in visitor.wrong[0]
    for number in range(40):
        other = await Visitor.open(visitor.address)
        await other.socket.send(MARKER if number % 2 else b"\xff" + MARKER.encode())
        await other.socket.wait_closed()
        await other.close()


def test_log_is_bounded_and_has_no_typed_text(strangers):
    before = len(strangers.log.read_bytes())
    visited(strangers.address, bad_messages)
    bad_requests(strangers.address)
    with urllib.request.urlopen(f"{strangers.address}/?text={MARKER}"):
        pass
    told = strangers.log.read_text(encoding="utf-8")
    assert "Invalid HTTP request" in told and "are counted" in told   # it does tell, and then counts
    assert MARKER not in told and len(told) - before < 20_000


def test_own_lesson_survives_a_restart(browser, strangers):
    with browser.new_context() as visitor:
        page = visitor.new_page()
        page.goto(strangers.address + "/handout")
        page.get_by_role("button", name="Add a text").click(timeout=PATIENCE)
        page.get_by_role("textbox", name="Text").fill(MARKER)
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("[class*=st-key-item-] textarea")).to_have_value(MARKER, timeout=PATIENCE)
        page.keyboard.press("Escape")
        page.goto(strangers.address + "/handout?present=1&entry=1")
        strangers.stop()
        strangers.start().wait()
        page.reload()
        expect(page.get_by_text(MARKER, exact=True)).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_text("1 of 1")).to_be_visible()


def test_server_stops_when_told(strangers):
    strangers.process.terminate()
    assert strangers.process.wait(20) in (0, -signal.SIGTERM)   # uvicorn sends itself the signal again at its end
    assert "page " not in strangers.log.read_text(encoding="utf-8")   # no page failed
