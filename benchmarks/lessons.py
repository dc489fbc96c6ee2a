"""Measure how fast lessons react to every control, in a real browser: `python -m benchmarks.lessons [NAME …]
[--page FILE]`.

The time ends with the last change in a figure of the control's section or, without one, of the next section
("picture"), and in any figure on the page ("page"). Every control is moved twice; results that a server computes only
once therefore affect the maximum but not the median. --page updates a table and keeps the rows of lessons that were not
measured.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from clearhead.model.core.files import write as write_file

PLACES, TIMES, QUIET = 12, 2, 700    # controls per kind, moves per control, milliseconds without change to wait for
# controls that the browser tests move with other keys or not at all, because they do not always change a link
MORE = {"list": ("[data-testid=stSelectbox] input", "ArrowDown ArrowDown Enter"),
        "button": ("[data-testid=stBaseButton-secondary]", None),
        "text": ("[data-testid=stTextInput] input", "Backspace Enter")}
# progress bars of sections that train or measure on the page; a move that shows one is not only a redraw
TRAINS = ", ".join(f".st-key-section-{name} [data-testid=stProgress]"
                   for name in ("scores", "copying", "run", "measured", "training", "data"))
FIGURES = ".clearhead-chart, [class*=st-key-pieces-]"
# records the times of the last key press or click, and of the last change in a figure of its section and in any figure
WATCH = """([figures, trains]) => {
    const main = document.querySelector('[data-testid=stMain]');
    const nothing = { start: 0, picture: 0, page: 0, trains: false }, seen = (window.answers = { ...nothing });
    const section = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest('[class*=st-key-section-]');
    const begun = (node) => {   // the section of a control, or where that has no picture the next one that has
        const all = [...main.querySelectorAll('[class*=st-key-section-]')], at = all.indexOf(section(node));
        return at < 0 ? undefined : all.slice(at).find((each) => each.querySelector(figures));
    };
    let own;
    const begin = (event) => {
        Object.assign(seen, nothing, { start: performance.now() });
        own = begun(event.target);
    };
    for (const type of ['keydown', 'click']) document.addEventListener(type, begin, true);
    const figure = ({ target }) => (target.nodeType === 1 ? target : target.parentElement)?.closest(figures);
    const drawing = (node) => [...node.querySelectorAll('.main-svg')].map((each) => each.innerHTML).join();
    const shown = (node) => drawing(node) || node.textContent;
    const known = new WeakMap([...main.querySelectorAll(figures)].map((node) => [node, shown(node)]));
    new MutationObserver((changes) => {
        const now = performance.now();
        seen.trains ||= [...main.querySelectorAll(trains)].some((bar) => section(bar)?.className === own?.className);
        for (const node of new Set(changes.map(figure).filter(Boolean))) {
            const picture = shown(node);
            // a page that is drawn again with the same numbers shows nothing new
            if (known.get(node) === picture) continue;
            known.set(node, picture);
            seen.page = now;
            if (!own || section(node)?.className === own.className) seen.picture = now;
        }
    }).observe(main, { subtree: true, childList: true, attributes: true, characterData: true });
}"""
REST = """quiet => document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
    && performance.now() - Math.max(window.answers.start, window.answers.page) > quiet"""
TAKEN = """() => {
    const { start, picture, page, trains } = window.answers;
    return [picture && picture - start, page && page - start, trains];
}"""
INTRODUCTION = """# How soon a lesson answers

Written by `python -m benchmarks.lessons --page benchmarks/lessons.md`, which moves every control of each lesson twice
in a real browser. Milliseconds are from the key press or click to the last change in a picture: in *picture*, of the
control's own section, or of the next one if it has none; in *page*, of all sections. The bar is 300 for the picture.
*None*: moves that changed no picture (a slider at its end, the key of a list with one entry). *Trains*: moves that
trained or measured something with a progress bar; no other column counts them.

| lesson | control | moves | none | trains | picture, median | picture, worst \
| page, median | page, worst | within 300 | machine, day |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def moved(page, selector: str, keys: str | None) -> list[tuple[float, float, bool]]:
    """Move all controls of one kind and return (picture, page, whether something was trained) for every move, in
    milliseconds; 0 if no figure changed. Undoes moves that leave the page."""
    found, here = [], page.url
    for place in range(min(page.locator(f"[data-testid=stMain] {selector}").count(), PLACES)):
        for _ in range(TIMES):
            control = page.locator(f"[data-testid=stMain] {selector}").nth(place)
            if not control.count() or not control.is_enabled() or not (keys or control.is_visible()):
                continue
            if keys:
                control.focus()
            for key in (keys or "").split():
                page.keyboard.press(key)
            if not keys:
                control.click()
            page.wait_for_function(REST, arg=QUIET, timeout=120_000, polling=50)
            picture, whole, trains = page.evaluate(TAKEN)
            if urlsplit(page.url).path != urlsplit(here).path:
                _open(page, here)
            else:
                found.append((picture or whole, whole, trains))
    return found


def _open(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("[data-testid=stMain] h2", timeout=120_000)
    page.wait_for_timeout(4 * QUIET)   # lower sections appear after the title
    page.evaluate(WATCH, [FIGURES, TRAINS])
    page.wait_for_function(REST, arg=4 * QUIET, timeout=120_000)


def measure(names: list[str]) -> Iterator[tuple[str, dict[str, list[tuple[float, float, bool]]]]]:
    """Measure the lessons one by one and yield (lesson, {kind of control: result of `moved`})."""
    from playwright.sync_api import sync_playwright

    from tests.browser.test_every_page import KINDS, answered
    from tests.conftest import FLAGS, ROOT, Server, chromium

    server = Server(ROOT / "app.py", Path(tempfile.mkdtemp()) / "server.log").wait()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for name in names:
                _open(page, server.address + answered(name))
                yield name, {kind: taken for kind, (selector, keys) in (KINDS | MORE).items()
                             if (taken := moved(page, selector, keys))}
            browser.close()
    finally:
        server.stop()


def rows(name: str, kinds: dict[str, list[tuple[float, float, bool]]]) -> list[str]:
    """Return one table row for each kind of control in a lesson."""
    told = []
    for kind, taken in kinds.items():
        redrawn = [each[:2] for each in taken if each[1] and not each[2]]
        picture, whole = zip(*redrawn, strict=True) if redrawn else ((), ())
        numbers = [f"{how(each):.0f}" if each else "–" for each in (picture, whole) for how in (statistics.median, max)]
        quick, trained = sum(each <= 300 for each in picture), sum(each[2] for each in taken)
        moves = f"{len(taken)} | {len(taken) - len(redrawn) - trained} | {trained}"
        told.append(f"| {name} | {kind} | {moves} | {' | '.join(numbers)} | {quick} of {len(picture)} | {machine()} |")
    return told


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, load {psutil.getloadavg()[0]:.0f}, {datetime.date.today()}"


def write(path: Path, found: dict) -> None:
    """Write the table and keep the rows of other lessons."""
    kept = [line for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("| ")] if path.is_file() else []
    old = [line for line in kept[2:] if line.split("|")[1].strip() not in found]
    new = [row for name, kinds in found.items() for row in rows(name, kinds)]
    write_file(path, (INTRODUCTION + "\n".join(old + new) + "\n").encode("utf-8"))


def main() -> None:
    from clearhead.viz.app.page import lessons

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="lessons; all without")
    parser.add_argument("--page", type=Path, help="Markdown file that gets the table")
    parser.add_argument("--json", type=Path, help="file that gets the numbers")
    wanted = parser.parse_args()
    found = {}
    for name, kinds in measure(wanted.names or lessons()):
        found[name] = kinds
        print("\n".join(rows(name, kinds)), flush=True)
        if wanted.page:
            write(wanted.page, {name: kinds})
    if wanted.json:
        content = {"milliseconds": found, "machine": platform.platform(), "python": platform.python_version()}
        write_file(wanted.json, (json.dumps(content) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
