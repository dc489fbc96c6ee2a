"""Measure how fast an open head of 256 tokens reacts in a real browser: `python -m benchmarks.pointer [--json FILE]`.

Opens 40 other heads by clicking in the grid and measures the time from the click to the painted matrix. The criterion
is 0.2 s at the 95th percentile. Then moves the pointer over 500 positions in each lens and measures handler, redraw and
layout. Each position counts with the fastest of five passes, to exclude interference by other programs.
"""
import argparse
import json
import platform
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from clearhead.model.core.files import write as write_file

# 12 tokens per sentence; the model truncates the text at 256
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

BAR = 200.0   # criterion in milliseconds
OPENED, COLUMNS, LABEL = 40, 12, 16   # clicks, heads per row, pixels above the first row
# promises the milliseconds from the next click to the first frame with another matrix
WATCH = """() => {
    const within = (root) => {
        for (const element of root.querySelectorAll('*')) {
            if (element.matches('canvas') && element.width > 100) return element;
            const inner = element.shadowRoot && within(element.shadowRoot);
            if (inner) return inner;
        }
    };
    const seen = () => {
        const canvas = within(document.querySelector('.st-key-head'));
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let sum = 0;
        for (let place = 0; place < data.length; place += 41) sum = (sum * 31 + data[place]) | 0;
        return sum;
    };
    const before = seen();
    window.opened = new Promise((resolve) => addEventListener('click', () => {
        const start = performance.now();
        const look = () => seen() === before && performance.now() - start < 10000
            ? requestAnimationFrame(look) : resolve(performance.now() - start);
        requestAnimationFrame(look);
    }, { capture: true, once: true })); }"""


def opening(page) -> float:
    """Return the 95th percentile of the time from the click on another head to the painted matrix, in milliseconds."""
    times, grid = [], page.locator(".st-key-grid [data-pitch]")
    for number in range(OPENED):
        row, column = divmod((7 * number + 5) % 72, COLUMNS)
        left, pitch = (float(grid.get_attribute(f"data-{name}")) for name in ("left", "pitch"))
        page.evaluate(WATCH)
        page.locator(".st-key-grid canvas").first.click(
            position={"x": left + (column + 0.5) * pitch, "y": LABEL + (row + 0.5) * pitch}, force=True)
        times.append(page.evaluate("() => window.opened"))
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=120_000)
        page.wait_for_timeout(300)
    return float(np.percentile(times, 95))


def measure() -> dict[str, float]:
    """Return 95th percentiles in milliseconds, of opening a head and of a pointer move in each lens."""
    from playwright.sync_api import sync_playwright

    from tests.conftest import FLAGS, ROOT, Server, chromium

    found: dict[str, float] = {}
    server = Server(ROOT / "app.py", Path(tempfile.mkdtemp()) / "server.log").wait()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for lens in ("matrix", "lines", "text"):
                page.goto(f"{server.address}/?{urlencode({'text': TEXT, 'lens': lens})}")
                page.wait_for_selector(".st-key-head .view .board", timeout=120_000)
                page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=120_000)
                if not found:
                    found["open"] = opening(page)
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
        of = f"{OPENED} heads, bar {BAR:g}" if lens == "open" else "500 moves"
        print(f"{lens:8} {milliseconds:6.2f} ms (95th percentile of {of})")
    if wanted.json:
        content = {"p95_ms": found, "machine": platform.platform(), "python": platform.python_version()}
        write_file(wanted.json, json.dumps(content, indent=1).encode("utf-8"))


if __name__ == "__main__":
    main()
