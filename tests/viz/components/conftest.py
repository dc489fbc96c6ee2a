"""The demo page, running, and a page of it in a browser that fails on any console error."""
from pathlib import Path

import pytest

from tests.conftest import Server

RESTS = "[data-testid=stApp][data-test-script-state=notRunning]"


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    server = Server(Path(__file__).parent / "demo_app.py", tmp_path_factory.mktemp("demo") / "server.log").wait()
    yield server
    server.stop()


@pytest.fixture
def visit(tabs, demo):
    """visit(query, width=1440, scheme="light") opens the demo page and waits until everything is drawn."""
    pages, errors = [], []

    def go(query: str = "", width: int = 1440, scheme: str = "light"):
        page = tabs.take(width, 900, scheme)
        pages.append(page)
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.frames_received, page.frames_sent = [], []
        page.on("websocket", lambda socket: (socket.on("framereceived", lambda frame: page.frames_received.append(frame)),
                                             socket.on("framesent", lambda frame: page.frames_sent.append(frame))))
        page.goto(f"{demo.address}/?{query}")
        page.wait_for_selector(".ch.grid[data-heads]", timeout=60_000)
        page.wait_for_selector(".ch.view[data-drawn]")
        page.wait_for_selector(RESTS)
        page.wait_for_timeout(300)
        page.runs_seen = runs(page)
        return page

    yield go
    for page in pages:
        tabs.give_back(page, demo.address)
    assert not errors, errors


def rest(page) -> None:
    """Until the script has run for what was just done, or a while shows that nothing made it run; and the picture follows."""
    for _ in range(20):
        page.wait_for_timeout(60)
        if runs(page) != page.runs_seen:
            break
    page.wait_for_selector(RESTS)
    page.wait_for_timeout(200)
    page.runs_seen = runs(page)


def events(page) -> list[str]:
    """What the page wrote down."""
    text = page.get_by_text("events", exact=False).last.inner_text().removeprefix("events").strip()
    return text.split(" | ") if text else []


def runs(page) -> int | None:
    """How often the script has run; None where the page says nothing."""
    told = page.get_by_text("runs ", exact=False).all_inner_texts()
    return int(told[-1].removeprefix("runs ")) if told else None
