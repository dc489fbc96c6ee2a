"""Measure Clearhead in the browser on one core: `python -m benchmarks.site [--page benchmarks/site.md]`.

Serves the folder that `clearhead site` writes, opens it in a new Chromium that is bound to one core, and measures the
time to the first picture, the times from *Show* to the picture of an own sentence, the bytes that are sent, axe's
findings and console errors. Then compares all attention weights of 200 texts with PyTorch's on the same weights.
"""
import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from clearhead.model.core.files import write
from tests.browser import hosted

assert sys.platform == "linux", "This benchmark binds the browser to one core, which only Linux can; run it there."

TIMES = 5
MEGA = 1e6
# milliseconds from the navigation to the first frame after the first picture
FIRST = """() => new Promise((resolve) => {
  const look = () => document.querySelector("#head")?.shadowRoot?.querySelector(".view[data-drawn]")
    ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(look);
  look();
})"""
# milliseconds from *Show* to the first frame after the picture of a text with this many tokens
OWN = """([text, count]) => new Promise((resolve) => {
  const start = performance.now(), strip = document.querySelector("#strip").shadowRoot;
  document.querySelector("#text").value = text;
  document.querySelector("#ask").requestSubmit();
  const look = () => strip.querySelectorAll("button").length === count && !document.body.matches(".busy")
    ? requestAnimationFrame(() => resolve(performance.now() - start)) : requestAnimationFrame(look);
  look();
})"""
PAGE = """# Clearhead in the browser

`python -m benchmarks.site --page benchmarks/site.md` measured this in {browser}, bound to one core.
Times are medians of {times} visits with an empty cache.

| | measured | goal |
| --- | ---: | ---: |
| first picture, from an empty page | {first:.2f} s | 1.5 s |
| own sentence of 16 tokens, from *Show* to its picture | {short:.2f} s | 0.5 s |
| own sentence of 128 tokens | {long:.2f} s | 5 s |
| model loaded and checked | {ready:.2f} s | |
| sent before the first picture, without the model | {before:.2f} MB | 1 MB |
| sent in all | {total:.1f} MB | 30 MB |
| the page as one file | {single:.1f} MB | |
| axe's findings | {axe} | 0 |
| console errors | {errors} | 0 |
| largest difference from PyTorch's weights, {texts} texts of 2 to {longest} tokens | {worst:.0e} | 1e-4 |

Measured on one core of {cores}, Linux, {day}{load}.
The model comes from the same machine, so the times contain no network.

The forward pass is our own `encoder.js` of 6 kB. onnxruntime-web 1.30.0 (`npm pack onnxruntime-web`, 2026-11-29)
needs at least 14.2 MB of WASM besides the model, so it cannot be the smaller one; its speed was not measured.
"""


@contextmanager
def one_core() -> Iterator[None]:
    """Bind this process, and the browser that it starts, to one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def visit(browser: Any, address: str) -> dict[str, Any]:
    """Return what one visit with an empty cache measures."""
    page, errors = browser.new_page(viewport={"width": 1440, "height": 900}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(address, wait_until="commit")
    found = {"first": page.evaluate(FIRST) / 1000}
    page.wait_for_selector("[data-verdict='✓']:not(.busy)")
    found["ready"] = page.evaluate("() => performance.now()") / 1000
    for name, count in (("short", 16), ("long", 128)):
        text = " ".join(["The quick brown fox jumps over a lazy dog"] * 20).split()[:count - 2]
        found[name] = page.evaluate(OWN, [" ".join(text), count]) / 1000
    return found | {"errors": errors, "page": page}


def measure(folder: Path, address: str) -> dict[str, Any]:
    """Return the table's figures."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    from tests.conftest import FLAGS, headless

    with one_core(), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=headless(), args=FLAGS)
        visits = [visit(browser, address) for _ in range(TIMES)]
        page = visits[-1]["page"]
        found = page.evaluate(f"() => ({hosted.COMPARE})('all')")
        assert all(same for _, _, same, *_ in found), "other tokens than PyTorch's"
        sizes = {path.name: path.stat().st_size / MEGA for path in folder.iterdir() if path.is_file()}
        times = ("first", "short", "long", "ready")
        figures = {name: statistics.median(each[name] for each in visits) for name in times}
        return figures | {
            "browser": f"Chromium {browser.version}", "axe": len(Axe().run(page).response["violations"]),
            "errors": sum(len(each["errors"]) for each in visits), "texts": len(found),
            "longest": max(count for _, count, *_ in found), "worst": max(worst for *_, worst in found),
            "before": sizes["index.html"], "single": sizes[hosted.SINGLE],
            "total": sum(sizes[name] for name in ("index.html", "minilm-8bit.bin", "offline.js"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="write the table to this file")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room, "site")
        hosted.make(folder)
        hosted.refer(folder, "all", hosted.sentences())
        before = os.getloadavg()[0]
        with hosted.served(folder) as address:
            figures = measure(folder, address)
    load = f", while other programs ran (load {before:.0f})" if before > 1.5 else ""
    text = PAGE.format(**figures, times=TIMES, cores=os.cpu_count(), day=date.today().isoformat(), load=load)
    print(text)
    if asked.page:
        write(asked.page, text.encode())


if __name__ == "__main__":
    main()
