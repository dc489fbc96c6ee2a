"""Fixtures: the demo page in a browser that fails on any console error, and single modules in a browser."""
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from plotly.offline import get_plotlyjs

from clearhead.viz.components.files import FOLDER, address
from tests.conftest import ROOT, shared

RESTS = "[data-testid=stApp][data-test-script-state=notRunning]"


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    return shared(tmp_path_factory, "demo", ROOT / "tests" / "served.py",
                  CLEARHEAD_TEST_PAGE=str(Path(__file__).parent / "demo_app.py"))


@pytest.fixture(scope="session")
def opened(tabs, demo):
    """Open the page that all these tests share."""
    page = tabs.take()
    page.wrong, page.frames_received, page.frames_sent = [], [], []
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("websocket", lambda socket: (socket.on("framereceived", lambda frame: page.frames_received.append(frame)),
                                         socket.on("framesent", lambda frame: page.frames_sent.append(frame))))
    page.goto(demo.address)
    page.wait_for_selector(".ch.view[data-drawn]", timeout=60_000)
    yield page
    tabs.give_back(page, demo.address)


@pytest.fixture
def visit(opened):
    """visit(query, width=1440, scheme="light") shows the demo with this query and waits until everything is drawn:
    without reloading Streamlit, all components are removed and mounted again, and the page's memory is cleared."""
    def go(query: str = "", width: int = 1440, scheme: str = "light"):
        page = opened
        page.wait_for_selector(RESTS)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.mouse.move(1, 899)
        page.evaluate("query => history.replaceState(null, '', '?' + query)", query)
        toggle = page.locator("label", has_text="leave")
        toggle.click()
        page.wait_for_selector(".ch", state="detached")
        page.wait_for_selector(RESTS)
        toggle.click()
        page.wait_for_selector(".ch.grid[data-heads]", timeout=60_000)
        page.wait_for_selector(".ch.view[data-drawn]")
        page.wait_for_selector(RESTS)
        page.wait_for_timeout(300)
        page.runs_seen = runs(page)
        return page

    opened.wrong.clear()
    yield go
    assert opened.wrong == []


def rest(page) -> None:
    """Wait until the script has run, or clearly will not, and the picture is updated."""
    for _ in range(20):
        page.wait_for_timeout(60)
        if runs(page) != page.runs_seen:
            break
    page.wait_for_selector(RESTS)
    page.wait_for_timeout(200)
    page.runs_seen = runs(page)


def events(page) -> list[str]:
    """Return the events listed on the page."""
    text = page.get_by_text("events", exact=False).last.inner_text().removeprefix("events").strip()
    return text.split(" | ") if text else []


def runs(page) -> int | None:
    """Return how often the script has run, or None if the page does not show it."""
    told = page.get_by_text("runs ", exact=False).all_inner_texts()
    return int(told[-1].removeprefix("runs ")) if told else None


TESTS = Path(__file__).parent
SITE = "http://modules.test"   # does not exist; requests to it are answered here
# a fake component that records its calls
PROBE = {"probe/probe.css": ".probe { color: red; }", "probe/probe.js": """export const seen = [], last = {};
export const mount = (parent, bytes, send) => {
  seen.push(["mount", bytes.length]);
  last.send = send;
  const destroy = () => seen.push(["destroy"]);
  return { update: (message) => seen.push(["update", message.length]), destroy };
};"""}


def _path(name: str) -> Path:
    """Return a file's path; JavaScript tests are in this folder, in the same structure as the modules they test."""
    return (TESTS if name == "check.js" or name.endswith(".test.js") else FOLDER) / name


def _file(route) -> None:
    """Answer a request like the server: with a page, the module at this URL, or 404."""
    place, root = urlsplit(route.request.url).path, address("")
    name = place.removeprefix(root)
    if place.endswith("/plotly.min.js"):
        route.fulfill(body=get_plotlyjs(), content_type="text/javascript")
    elif place == "/":
        route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
    elif place.startswith(root) and (name in PROBE or _path(name).is_file()):
        text = PROBE.get(name) or _path(name).read_text(encoding="utf-8")
        route.fulfill(body=text, content_type="text/css" if name.endswith("css") else "text/javascript")
    else:
        route.fulfill(status=404)


@pytest.fixture(scope="session")
def modules(browser):
    """Open a page that gets its files from here, for one module after another."""
    page = browser.new_page()
    page.route(f"{SITE}/**", _file)
    yield page
    page.close()


@pytest.fixture
def run_module(modules):
    """run_module(module, function, *given) returns function(module, *given), run in a page with the server's URLs."""
    modules.context.clear_cookies()
    modules.goto(SITE + "/")
    modules.evaluate("() => localStorage.clear()")

    def run(module: str, function: str, *given):
        return modules.evaluate(f"async ([place, given]) => ({function})(await import(place), ...given)",
                                [address(module), list(given)])

    return run
