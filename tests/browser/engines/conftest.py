"""WebKit and Firefox: installed from Debian's packages like Chromium, or else from `playwright install`."""
import glob
import shutil

import pytest

from tests.browser.engines.engine import HIGH, WIDE, Engine, Played
from tests.browser.engines.firefox import Firefox
from tests.browser.engines.reference import Reference
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


@pytest.fixture(scope="session")
def reference(tabs, tmp_path_factory):
    """reference(name, visit) returns Chromium's result."""
    return Reference(tabs, tmp_path_factory)
