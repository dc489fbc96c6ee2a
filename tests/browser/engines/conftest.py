"""WebKit and Firefox: installed from Debian's packages like Chromium, or else from `playwright install`."""
import glob
import json
import os
import shutil
from collections.abc import Callable

import pytest
from filelock import FileLock

from tests.browser.engines.engine import HIGH, WIDE, Engine, Played
from tests.browser.engines.firefox import Firefox
from tests.browser.engines.webkit import WebKit
from tests.conftest import brought


def mini_browser() -> str | None:
    """Return the path of WebKitGTK's browser if its driver and a virtual screen are available."""
    found = sorted(glob.glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser"))
    return found[-1] if found and shutil.which("WebKitWebDriver") and shutil.which("Xvfb") else None


def opened(name: str, playwright) -> Engine:
    """Start the engine with this name. If it is unavailable, fail with instructions."""
    from playwright.sync_api import Error

    if name == "webkit" and (found := brought(mini_browser, "webkit2gtk-driver", "xvfb")):
        return WebKit(found)
    if name == "firefox" and (found := brought(lambda: shutil.which("firefox-esr"), "firefox-esr")):
        return Firefox(found)
    try:
        launched = getattr(playwright, name).launch()
    except Error:
        pytest.fail(f"The tests in {name} need it: run `playwright install --with-deps {name}`.", pytrace=False)
    return Played(launched.new_page(viewport={"width": WIDE, "height": HIGH}), launched.close)


@pytest.fixture(scope="session", params=["webkit", "firefox"])
def engine(request, playwright):
    """Open a page in an engine other than Chromium."""
    started = opened(request.param, playwright)
    yield started
    started.close()


class Reference:
    """Results in Chromium, computed once for all pytest processes."""

    def __init__(self, tabs, tmp_path_factory):
        self.tabs, self.engine = tabs, None
        base = tmp_path_factory.getbasetemp()
        self.folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def __call__(self, name: str, visit: Callable[[Engine], object]) -> object:
        """Return the result of visit(engine) in Chromium. name: identifies the visit."""
        path = self.folder / f"chromium-{name}.json"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                self.engine = self.engine or Played(self.tabs.take(width=WIDE, height=HIGH))
                path.write_text(json.dumps(visit(self.engine)), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def reference(tabs, tmp_path_factory):
    """reference(name, visit) returns Chromium's result."""
    return Reference(tabs, tmp_path_factory)
