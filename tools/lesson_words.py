"""Count the words that lessons show at first: `python -m tools.lesson_words [--json FILE] [--at URL] [NAME …]`.

Counts the words in the main part of the page at 1440 × 900, without any answers or opened expanders. A word is a
string between spaces that contains a letter or digit. Words in charts and drawings count if they are SVG text; hidden
words do not.
"""
import argparse
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from clearhead.viz.app.page import lessons
from tests.browser.watch import PATIENCE, Watch
from tests.conftest import FLAGS, ROOT, Server, chromium


def words_of(text: str) -> int:
    """Count the words in a text: strings between spaces that contain a letter or digit."""
    return sum(bool(re.search(r"\w", part)) for part in text.split())


def count(tab: Tab, address: str, name: str) -> int:
    """Count the words that a lesson shows when opened."""
    seen = Watch(tab, address).open(f"/{name}")
    return words_of(seen.main.inner_text())


@contextmanager
def served(address: str) -> Iterator[str]:
    """Yield the address, or start a server of this repository's app, yield its address, and stop it."""
    if address:
        yield address
        return
    with tempfile.TemporaryDirectory() as folder:
        server = Server(ROOT / "app.py", Path(folder) / "server.log").wait()
        try:
            yield server.address
        finally:
            server.stop()


def measure(names: list[str], at: str = "") -> dict[str, int]:
    """Return {lesson: number of words}. at: address of a running server; by default, one is started and stopped."""
    with served(at) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        tab.set_default_timeout(PATIENCE)
        found = {name: count(tab, address, name) for name in names}
        browser.close()
    return found


def main() -> None:
    """Count the words and print them."""
    options = argparse.ArgumentParser(description=__doc__.split(":")[0])
    options.add_argument("lessons", nargs="*", default=[], help="only these")
    options.add_argument("--json", type=Path, help="where the numbers go, too")
    options.add_argument("--at", default="", help="the address of a server that runs already")
    given = options.parse_args()
    found = measure(given.lessons or lessons(), given.at.rstrip("/"))
    for name, words in found.items():
        print(f"{name:12s} {words:6,}")
    print(f"{'all':12s} {sum(found.values()):6,}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
