"""Every page in WebKit and in Firefox: nothing goes wrong on it, and it shows what Chromium shows."""
import time

import pytest

from tests.browser.engines.engine import Engine
from tests.browser.engines.painted import LOOK, differences, painted
from viz.page import pages

SECONDS = 20   # until a page that rests has drawn all that Chromium drew


def visit(engine: Engine, address: str, quiet: int = 100) -> dict:
    engine.open(address)
    engine.run(LOOK)
    engine.until("() => document.querySelector('[data-testid=stMain] [data-testid=stElementContainer]') !== null")
    return painted(engine, quiet)


@pytest.mark.parametrize("name", pages())
def test_a_page_shows_what_chromium_shows(engine, reference, app, smollm2, name):
    # which only a decoder fills
    address = f"{app.address}/{name}" + (f"?model={smollm2}" if name == "next_word" else "")
    wanted = reference(name, lambda chromium: visit(chromium, address, 400))
    found, end = visit(engine, address), time.perf_counter() + SECONDS
    while (different := differences(found, wanted)) and time.perf_counter() < end:
        found = painted(engine)
    assert different == [] and engine.wrong() == []
