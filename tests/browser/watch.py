"""Open pages of the app in a real browser and record errors."""
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from clearhead.viz.app.page import pages
from clearhead.viz.style.text import page_titles, strings

PATIENCE = 90_000   # ms: the first response may include importing torch on a busy machine
REST = "[data-testid=stApp][data-test-script-state=notRunning]"
# whether something visible still waits for its code, as plots do; a page is idle if this is false and the script has
# not run for 120 ms. Charts that are folded or on another presented screen are drawn when they become visible
WAITS = """(document.querySelector("[data-testid=stSkeleton]") || [
        ...document.querySelectorAll(".clearhead-chart:not([data-drawn])")].some((each) => each.checkVisibility()))"""
# whether the page is idle after the last action has been answered. An action that sends nothing within 250 ms needs no
# answer, and a message without a new run within two seconds started none or joined one
STILL = f"""(call) => {{
    const ran = window.ran, now = performance.now();
    if (ran.call !== call) Object.assign(ran, {{ call, since: now, last: now }});
    if (!document.querySelector('{REST}') || {WAITS}) ran.last = now;
    const asked = ran.asked > ran.before, answered = asked && ran.began > ran.asked;
    const waits = asked && !answered && now - ran.asked < 2000;
    const still = now - ran.last > 120 && !waits && (answered || now - ran.since > 250);
    if (still) ran.before = now;
    return still;
}}"""
# record when the page last sent a message and when the last run began
ASKED = """(() => {
    const ran = window.ran = { asked: 0, began: 0, before: -1 }, { send } = WebSocket.prototype;
    const runs = (changes) => changes.some(({ target }) => target.dataset.testScriptState === "running");
    WebSocket.prototype.send = function (...given) {
        ran.asked = performance.now();
        return send.apply(this, given);
    };
    new MutationObserver((changes) => { if (runs(changes)) ran.began = performance.now(); })
        .observe(document, { attributes: true, attributeFilter: ["data-test-script-state"], subtree: true });
})()"""


def soon(read: Callable[[], Any], wanted: Any):
    """Assert that read() equals `wanted`, waiting for a page that is still being drawn."""
    end = time.perf_counter() + PATIENCE / 1000
    while (found := read()) != wanted and time.perf_counter() < end:
        time.sleep(0.05)
    assert found == wanted, found


class Watch:
    """A page of the app that records errors and requests to other sites."""

    def __init__(self, page, address):
        self.page, self.address, self.wrong, self.rests = page, address, [], 0
        self.page.add_init_script(ASKED)
        self.page.on("pageerror", lambda error: self.wrong.append(error.stack or str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text)
                     if message.type == "error" and "404" not in message.text else None)
        self.page.on("request", lambda request: self.wrong.append(request.url)
                     if request.url.startswith("http") and urlsplit(request.url).netloc != urlsplit(address).netloc
                     else None)

    @property
    def main(self):
        return self.page.locator("[data-testid=stMain]")

    def open(self, path: str):
        self.page.goto(self.address + path)
        expect(self.main.locator("h2").first).to_be_visible(timeout=PATIENCE)
        return self.rest()

    def rest(self):
        self.rests += 1
        # not on every frame, which would keep the page too busy for what it draws when idle
        self.page.wait_for_function(STILL, arg=self.rests, polling=40, timeout=PATIENCE)
        return self

    def follow_menu(self, name: str):
        """Open a page through the menu at the top, and by its card if the menu has no word for it."""
        word = pages()[name][0].section
        self.page.get_by_test_id("stTopNavLink").get_by_text(page_titles()[word], exact=True).click()
        if word != name:
            self.main.locator(f".st-key-open-{name} button").click(timeout=PATIENCE)

    def params(self) -> dict:
        return parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)

    def fine(self):
        assert self.main.locator("[data-testid=stException]").count() == 0
        assert self.main.get_by_text(strings("frame")["unknown_page_error"]).count() == 0
        assert self.wrong == [], self.wrong
