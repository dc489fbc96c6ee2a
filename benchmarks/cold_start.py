"""From the command to the first picture: `python -m benchmarks.cold_start [--json FILE] [--times N]`.

Starts `streamlit run app.py` N times with a browser that already runs, and tells the seconds until the server answers,
until the frame is drawn (the sidebar's text field), until the page's text is there, and until the grid of all heads is
painted. The first start warms the disk and does not count. The bar is 8 seconds for the grid. """
import argparse
import datetime
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from model.core.files import write as write_file

BAR = 8.0   # seconds
PAINTED = """canvas => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((byte, place) => place % 4 === 3 && byte > 0);
}"""


def start(browser) -> dict[str, float]:
    """Seconds from the command to each step of one start."""
    from tests.conftest import ROOT, Server

    page = browser.new_page(viewport={"width": 1440, "height": 900})
    begun = time.perf_counter()
    server = Server(ROOT / "app.py", Path(tempfile.mkdtemp()) / "server.log").wait()
    try:
        seconds = {"server": time.perf_counter() - begun}
        page.goto(server.address)
        page.wait_for_selector("[data-testid=stSidebar] textarea", timeout=120_000)
        seconds["frame"] = time.perf_counter() - begun
        page.wait_for_selector("[data-testid=stMain] h4", timeout=120_000)
        seconds["text"] = time.perf_counter() - begun
        grid = page.locator(".st-key-grid canvas").first
        grid.wait_for(timeout=120_000)
        while not grid.evaluate(PAINTED):
            time.sleep(0.02)
        seconds["grid"] = time.perf_counter() - begun
        return seconds
    finally:
        server.stop()
        page.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    from tests.conftest import FLAGS, chromium

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file that gets the numbers, with machine and versions")
    wanted = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        starts = [start(browser) for _ in range(wanted.times + 1)][1:]
        browser.close()
    found = {step: statistics.median(each[step] for each in starts) for step in starts[0]}
    machine = f"{os.cpu_count()} cores, {platform.system()}, {datetime.date.today()}"
    for step, seconds in found.items():
        print(f"{step:7} {seconds:6.2f} s (median of {wanted.times}; {machine})")
    print(f"bar: grid within {BAR:g} s, {'met' if found['grid'] <= BAR else 'missed'}")
    if wanted.json:
        told = {"seconds": found, "starts": starts, "bar": BAR, "machine": machine, "python": platform.python_version()}
        write_file(wanted.json, (json.dumps(told) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
