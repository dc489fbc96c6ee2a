"""Measure the time from the command to the first picture: `python -m benchmarks.cold_start [--json FILE] [--times N]`.

Starts an empty Streamlit app and Clearhead in turns, N times each, in separate processes, with a browser that is
already running. Reports the seconds until the empty app shows its title, and until Clearhead's server answers, its
sidebar has a text field, and the grid of all heads is painted. The first turn fills the disk cache, writes bytecode and
is not counted. The criterion is that the grid takes at most 1.8 times as long as the empty app's title. When the live
verification has finished, the grid is captured again and must not differ in any pixel.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from clearhead.model.core.files import write as write_file

BAR = 1.8   # maximum time of the grid, relative to the empty app's title
EMPTY = 'import streamlit as st\n\nst.title("An empty app")\n'
PAINTED = """canvas => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((byte, place) => place % 4 === 3 && byte > 0);
}"""
PIXELS = """async canvas => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const digest = await crypto.subtle.digest('SHA-256', data);
    return [...new Uint8Array(digest)].join();
}"""
VERIFIED = """() => [...document.querySelectorAll('[data-testid=stSidebar] button')]
    .some((button) => button.innerText.includes('✓'))"""
CHECKED = 120_000   # timeout for the live verification in ms


def start_empty(browser, script: Path) -> dict[str, float]:
    """Return the seconds from the command to the title of an empty app."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    begun, server = time.perf_counter(), _server(script)
    try:
        page.goto(server.wait().address)
        page.wait_for_selector("[data-testid=stMain] h1", timeout=120_000)
        return {"title": time.perf_counter() - begun}
    finally:
        server.stop()
        page.close()


def start(browser, script: Path) -> dict[str, float]:
    """Start Clearhead and return the seconds from the command to each step."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    begun, server = time.perf_counter(), _server(script)
    try:
        server.wait()
        seconds = {"server": time.perf_counter() - begun}
        page.goto(server.address)
        page.wait_for_selector("[data-testid=stSidebar] textarea", timeout=120_000)
        seconds["frame"] = time.perf_counter() - begun
        grid = page.locator(".st-key-grid canvas").first
        grid.wait_for(timeout=120_000)
        while not grid.evaluate(PAINTED):
            time.sleep(0.02)
        seconds["grid"] = time.perf_counter() - begun
        first = grid.evaluate(PIXELS)
        page.wait_for_function(VERIFIED, timeout=CHECKED)
        seconds["checked"] = time.perf_counter() - begun
        if grid.evaluate(PIXELS) != first:
            raise SystemExit("the grid changed after the live check")
        return seconds
    finally:
        server.stop()
        page.close()


def _server(script: Path):
    from tests.conftest import Server

    # with bytecode, as in every start except the first
    return Server(script, Path(tempfile.mkdtemp()) / "server.log", PYTHONDONTWRITEBYTECODE="")


def main() -> None:
    from playwright.sync_api import sync_playwright

    from tests.conftest import FLAGS, ROOT, chromium

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file that gets the numbers, with machine and versions")
    wanted = parser.parse_args()
    empty = Path(tempfile.mkdtemp()) / "empty.py"
    empty.write_text(EMPTY, encoding="utf-8")
    turns = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for turn in range(wanted.times + 1):
            turns.append(start_empty(browser, empty) | start(browser, ROOT / "app.py"))
            print(f"{turn or 'warm':>6}  " + "  ".join(f"{step} {each:6.2f} s" for step, each in turns[-1].items()),
                  flush=True)
        browser.close()
    medians = {step: statistics.median(turn[step] for turn in turns[1:]) for step in turns[0]}
    machine = f"{os.cpu_count()} cores, {platform.system()}, {datetime.date.today()}"
    print("median  " + "  ".join(f"{step} {each:6.2f} s" for step, each in medians.items()))
    ratio = medians["grid"] / medians["title"]
    print(f"grid at {ratio:.2f} times the title of an empty app (bar {BAR}, {'met' if ratio <= BAR else 'missed'}; "
          f"median of {wanted.times}; {machine})")
    if wanted.json:
        told = {"seconds": medians, "turns": turns, "bar": BAR, "machine": machine, "python": platform.python_version()}
        write_file(wanted.json, (json.dumps(told) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
