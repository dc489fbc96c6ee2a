"""Fixtures: pages that are opened from a file, offline."""
import pytest


@pytest.fixture
def from_file(browser, tmp_path):
    """from_file(content, hash, **look) opens a page; an error, a warning or a request fails the test."""
    contexts, errors = [], []

    def go(content: bytes, hash: str = "", **look):
        path = tmp_path / "page.html"
        path.write_bytes(content)
        contexts.append(browser.new_context(offline=True, viewport={"width": 1200, "height": 900}, **look))
        shown = contexts[-1].new_page()
        shown.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning")
                 else None)
        shown.on("pageerror", lambda error: errors.append(str(error)))
        shown.on("request", lambda request: None if request.url.startswith((path.as_uri(), "data:"))
                 else errors.append(request.url))
        shown.goto(path.as_uri() + hash)
        return shown

    yield go
    for context in contexts:
        context.close()
    assert not errors, errors
