"""Every page in WebKit and Firefox has no errors and looks as in Chromium."""
import json

import pytest

from clearhead.viz.app.page import pages
from clearhead.viz.style.text import addresses
from tests.browser.engines.engine import Engine
from tests.browser.engines.painted import begin, differences, painted

pytestmark = pytest.mark.rest

# as with the browser's own arrows: to load Streamlit anew takes longer than most pages
GO = """(path) => {
  window.before = document.querySelector("[data-testid=stMain]").textContent;
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
CAME = """() => {
  const now = document.querySelector("[data-testid=stMain]")?.textContent;
  return now !== undefined && now !== window.before;
}"""


def visit(engine: Engine, address: str, name: str, wanted: dict | None = None) -> dict:
    """Return what the page shows once it is as wanted."""
    path = f"/{addresses()[name]}"
    if engine.at != address:
        begin(engine, address + path)
        engine.at = address
    else:
        engine.run(f"() => ({GO})({json.dumps(path)})")
    engine.until(CAME)
    return painted(engine, wanted)


@pytest.mark.parametrize("name", pages())
def test_page_looks_as_in_chromium(engine, reference, app, name, smollm2):   # pages show it once it is on disk
    wanted = reference(f"page-{name}", lambda chromium: visit(chromium, app.address, name))
    assert differences(visit(engine, app.address, name, wanted=wanted), wanted) == [] and engine.wrong() == []
