"""Pointer moves over an open head of 256 tokens, in a real browser: `python -m benchmarks.pointer [--json FILE]`.

Starts the app on a text of 256 tokens and moves the pointer over 500 places in each lens: handler, redraw and layout.
Each place counts with the quickest of five passes, because what another program takes from the machine is not ours. """
import argparse
import json
import platform
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from model.core.files import write as write_file

# 12 tokens a sentence; what is over 256 is left to the model's limit
TEXT = "The cat sat on the mat and the dog saw it. " * 22
MOVES = """board => {
    const box = board.getBoundingClientRect(), times = [];
    for (let pass = 0; pass < 5; pass++) for (let i = 0; i < 500; i++) {
        const x = box.left + box.width * ((i * 0.618) % 1) * 0.95, y = box.top + box.height * ((i * 0.414) % 1);
        const target = board.getRootNode().elementFromPoint(x, y) ?? board;
        const start = performance.now();
        target.dispatchEvent(new PointerEvent('pointermove', {clientX: x, clientY: y, bubbles: true, composed: true}));
        board.getBoundingClientRect();
        times[i] = Math.min(times[i] ?? Infinity, performance.now() - start);
    }
    return times; }"""


def measure() -> dict[str, float]:
    """The 95th percentile of a move in milliseconds, by lens."""
    from playwright.sync_api import sync_playwright

    from tests.conftest import FLAGS, ROOT, Server, chromium

    found = {}
    server = Server(ROOT / "app.py", Path(tempfile.mkdtemp()) / "server.log").wait()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for lens in ("matrix", "lines", "text"):
                page.goto(f"{server.address}/?{urlencode({'text': TEXT, 'lens': lens})}")
                page.wait_for_selector(".st-key-head .view .board", timeout=120_000)
                page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=120_000)
                found[lens] = float(np.percentile(page.locator(".st-key-head .view .board").evaluate(MOVES), 95))
            browser.close()
    finally:
        server.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    wanted = parser.parse_args()
    found = measure()
    for lens, milliseconds in found.items():
        print(f"{lens:8} {milliseconds:6.2f} ms (95th percentile of 500 moves)")
    if wanted.json:
        content = {"p95_ms": found, "machine": platform.platform(), "python": platform.python_version()}
        write_file(wanted.json, json.dumps(content, indent=1).encode("utf-8"))


if __name__ == "__main__":
    main()
