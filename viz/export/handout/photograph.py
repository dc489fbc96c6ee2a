"""Photograph one of this server's own pages, as it is presented, with the Chromium that prints the PDF.

The browser can reach this server alone. It arrives with a token that works once and brings the texts that the page's
address leaves out; the page then states in `MARK` what it shows (viz/app/frame.py).
"""
import base64
import itertools
import json
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from clearhead.model.core.files import TemporaryFolder
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, UserError, frozen
from clearhead.viz.style.text import strings

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

WORDS = strings("handout")

TOKEN = "token"                 # parameter of the address
MARK = "data-shows"             # attribute with what the page shows, as a JSON object
WIDTH, HEIGHT, SCALE = 1280, 720, 1.5
SECONDS, START, SETTLED, POLL = 120, 30, 0.8, 0.1
LONGEST = 1500                  # characters for screen readers
# the mark and how much is drawn, once all that is visible is drawn and the page is presented
SHOWN = f"""(() => {{
  const mark = document.querySelector("[{MARK}]");
  const waits = document.querySelector(
    "[data-testid=stSkeleton], [data-test-script-state]:not([data-test-script-state=notRunning])")
    ?? [...document.querySelectorAll(".clearhead-chart:not([data-drawn])")].find((each) => each.checkVisibility());
  if (!mark || waits || !document.querySelector(".clearhead-line")) return ["", ""];
  return [mark.getAttribute("{MARK}"), document.body.innerHTML.length];
}})()"""
READ = """[...document.querySelectorAll("h1, h2, h3, h4, p, li, [role=figure]")]
  .filter((each) => each.checkVisibility()).map((each) => each.ariaLabel ?? each.innerText).join(" ")"""
# step through the page's figure, as the keys of a presentation do; false after its last step
STEP = """!document.dispatchEvent(new CustomEvent("clearhead-step", { detail: 1, cancelable: true }))"""
Call = Callable[..., dict[str, Any]]   # call(method, **parameters) of the DevTools protocol
_expected: dict[str, Mapping[str, str]] = {}   # {token: texts}


@frozen
class Screen:
    """A page to be photographed: a question whose answer is the photograph."""

    server: str                          # this server's own address, which ends with "/"
    page: str                            # its name
    params: tuple[tuple[str, str], ...]  # the parameters of its address
    texts: tuple[tuple[str, str], ...]   # (short name, text) of the texts that the address leaves out
    shows: tuple[tuple[str, object], ...]   # (field, value) that the page must state: its model, its texts

    def answer(self, models: Models, report: Progress) -> "Photograph":
        """Photograph the page."""
        return photograph(self, report)


@frozen
class Photograph:
    """A page at each step of its figure: the picture (WebP), and its texts for screen readers."""

    steps: tuple[tuple[bytes, str], ...]


def expected(token: str) -> Mapping[str, str] | None:
    """Return the texts of the page that arrives with this token, once; None for any other visitor."""
    return _expected.pop(token, None)


def photograph(screen: Screen, report: Progress) -> Photograph:
    """Photograph a page at each step of its figure. Raises UserError if there is no Chromium, or if the page does not
    appear or shows something else."""
    token = secrets.token_urlsafe()
    _expected[token] = dict(screen.texts)
    try:
        with TemporaryFolder("photograph") as folder, _page(folder, screen.server) as call:
            call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])
            call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=SCALE,
                 mobile=False)
            call("Page.navigate", url=f"{screen.server}{screen.page}?{urlencode((*screen.params, (TOKEN, token)))}")
            stated = json.loads(_drawn(call, report))
            # as JSON, which turns the tokens of an answer into a list
            if stated | json.loads(json.dumps({**dict(screen.shows), "failed": False})) != stated:
                raise UserError(WORDS["photograph_differs"])
            steps = [_taken(call)]
            while _value(call, STEP):
                _drawn(call, report)
                steps.append(_taken(call))
            return Photograph(tuple(steps))
    except (OSError, KeyError, ValueError) as error:
        raise UserError(WORDS("photograph_slow", seconds=SECONDS)) from error
    finally:
        _expected.pop(token, None)


def _taken(call: Call) -> tuple[bytes, str]:
    """Return the page's picture and texts as they are now."""
    taken, says = call("Page.captureScreenshot", format="webp", quality=90), " ".join(str(_value(call, READ)).split())
    return base64.b64decode(taken["data"]), says[:LONGEST]


def _drawn(call: Call, report: Progress) -> str:
    """Wait until the page is drawn and has been still for a while, and return its mark. Raises TimeoutError."""
    begun = still = time.perf_counter()
    before, shown = [], ["", ""]
    while not shown[0] or time.perf_counter() - still < SETTLED:
        time.sleep(POLL)
        before, shown, now = shown, _value(call, SHOWN), time.perf_counter()
        still = still if shown == before else now
        if now - begun > SECONDS:
            raise TimeoutError
        report((now - begun) / SECONDS, "")   # ends the wait if nobody wants the photograph any more
    return shown[0]


def _value(call: Call, expression: str) -> Any:
    return call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


@contextmanager
def _page(folder: Path, server: str) -> Iterator[Call]:
    """Start a Chromium with an empty page, and yield call(method, **parameters) of its DevTools protocol."""
    from websockets.exceptions import WebSocketException  # neither is needed by the first page
    from websockets.sync.client import connect

    from clearhead.viz.export.handout import pdf

    alone = f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {urlsplit(server).hostname}"
    for command in pdf.commands():
        browser = subprocess.Popen(
            [*command, alone, "--ignore-certificate-errors", "--hide-scrollbars", "--remote-debugging-port=0",
             f"--user-data-dir={folder}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if place := _devtools(folder / "DevToolsActivePort", browser):
                with connect(place, max_size=None, proxy=None) as socket:
                    yield _caller(socket)
                return
        except WebSocketException as error:
            raise TimeoutError from error
        finally:
            browser.kill()
            browser.wait()
    raise UserError(WORDS["no_browser"])


def _devtools(file: Path, browser: subprocess.Popen) -> str:
    """Return the address at which a Chromium that has started answers; "" if it has ended, as without a sandbox."""
    begun = time.perf_counter()
    while browser.poll() is None and time.perf_counter() - begun < START:
        if file.exists() and len(lines := file.read_text(encoding="ascii").split()) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(POLL)
    return ""


def _caller(socket: "ClientConnection") -> Call:
    numbers, session = itertools.count(), dict[str, str]()

    def call(method: str, **params: Any) -> dict[str, Any]:
        number = next(numbers)
        socket.send(json.dumps({"id": number, "method": method, "params": params, **session}))
        while (answer := json.loads(socket.recv(SECONDS))).get("id") != number:
            pass
        result: dict[str, Any] = answer["result"]
        return result

    page = call("Target.createTarget", url="about:blank")["targetId"]
    session["sessionId"] = call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    return call
