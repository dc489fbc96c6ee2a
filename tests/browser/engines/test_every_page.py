"""Every page in WebKit and in Firefox: nothing goes wrong on it, and it shows what Chromium shows."""
import pytest

from tests.browser.engines.painted import CAME, go
from viz.page import pages

DECODER = "next_word"   # the page that only a decoder fills; it comes last, as its address begins a session of its own


@pytest.mark.parametrize("name", sorted(pages(), key=lambda name: name == DECODER))
def test_a_page_shows_what_chromium_shows(three, app, request, name):
    query = f"?model={request.getfixturevalue('smollm2')}" if name == DECODER else ""

    def visit(engine):
        go(engine, app.address, name, query)
        yield CAME

    assert three.differences(visit) == {}
