"""Run ten browsers on one server: `python -m benchmarks.ten_browsers [--browsers 10] [--minutes 1] [--json FILE]`.

The server is server.py with its default settings. Each browser is a separate Chromium process. It repeatedly opens
*Heads*, types its own text and opens two other heads; in between, it imports its own small NPZ file and opens heads of
that. Every browser's texts and file contain a unique word. All bytes that the server sends to a browser, over the
WebSocket and HTTP, are searched for the words of the other browsers.
"""
import argparse
import asyncio
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from tests.conftest import FLAGS, ROOT, Server, chromium
from tests.uploads import npz

PATIENCE = 300_000   # timeout in milliseconds; long, because ten Chromiums that start at once keep two cores busy
RESTS = "[data-testid=stApp][data-test-script-state=notRunning]"
HEAD = ".st-key-head .view .board"
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "looked", "at"]
COUNTS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]   # tokens of MiniLM's
STEPS = ("open", "text", "head", "file")


@dataclass
class Visitor:
    """One browser: the seconds of each step, errors, and other visitors' words that it received."""

    number: int
    seconds: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS})
    wrong: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    received: int = 0   # number of bytes
    own: int = 0        # number of messages with this visitor's own word, which shows that the search works
    texts: int = 0

    @property
    def word(self) -> str:
        return f"zq{self.number}zq"

    def check(self, content: bytes, visitors: int) -> None:
        """Search bytes from the server for the words of other visitors."""
        self.received += len(content)
        self.own += self.word.encode() in content
        self.foreign += [other.word for other in map(Visitor, range(visitors))
                         if other.number != self.number and other.word.encode() in content]

    def took(self, step: str, begun: float) -> None:
        self.seconds[step].append(time.perf_counter() - begun)

    def file(self) -> dict:
        """Return an NPZ file with attention over one of this visitor's texts, in Playwright's format."""
        tokens = [self.word, *WORDS]
        weights = np.random.default_rng(self.number).dirichlet(np.ones(len(tokens)), (2, 4, len(tokens)))
        return {"name": f"{self.word}.npz", "mimeType": "application/octet-stream", "buffer": npz(weights, tokens)}


async def listen(page, visitor: Visitor, visitors: int) -> None:
    """Check everything that the server sends to a page."""
    async def answered(response) -> None:
        from playwright.async_api import Error

        with suppress(Error):   # redirections and closed pages have no body
            visitor.check(await response.body(), visitors)

    def received(frame) -> None:
        visitor.check(frame if isinstance(frame, bytes) else frame.encode(), visitors)

    page.on("websocket", lambda socket: socket.on("framereceived", received))
    page.on("response", answered)
    page.on("pageerror", lambda error: visitor.wrong.append(str(error)))


async def shows(page, word: str) -> None:
    """Wait until the open head has this word as a token and the page has finished."""
    await page.locator("[data-testid=stMain]").get_by_role("button", name=word).first.wait_for(timeout=PATIENCE)
    await page.wait_for_selector(RESTS, timeout=PATIENCE)


async def type_text(page, visitor: Visitor) -> None:
    visitor.texts += 1
    mark = COUNTS[visitor.texts % len(COUNTS)]
    place, begun = page.locator("[data-testid=stSidebar] textarea").first, time.perf_counter()
    await place.fill(f"{mark} {visitor.word} " + " ".join(WORDS))
    await place.press("Control+Enter")
    await shows(page, mark)
    visitor.took("text", begun)


async def open_head(page, visitor: Visitor, key: str) -> None:
    grid, begun = page.locator(".st-key-grid .scroll").first, time.perf_counter()
    before = page.url
    await grid.press(key)
    await grid.press("Enter")
    await page.wait_for_function("(before) => location.href !== before", arg=before, timeout=PATIENCE)
    await page.wait_for_selector(RESTS, timeout=PATIENCE)
    visitor.took("head", begun)


async def import_file(page, visitor: Visitor) -> None:
    """Import this visitor's file, open a head of it, and return to the model."""
    side, begun = page.locator("[data-testid=stSidebar]"), time.perf_counter()
    place = side.locator("[data-testid=stFileUploader] input")
    await side.get_by_text("More", exact=True).click()
    await place.set_input_files(visitor.file())
    await shows(page, visitor.word)
    visitor.took("file", begun)
    await open_head(page, visitor, "ArrowRight")


async def visit(page, visitor: Visitor, address: str, minutes: float, visitors: int) -> None:
    """Run one browser for some minutes."""
    from playwright.async_api import Error

    await listen(page, visitor, visitors)
    try:
        begun = time.perf_counter()
        await page.goto(address, timeout=PATIENCE)
        await page.wait_for_selector(HEAD, timeout=PATIENCE)
        visitor.took("open", begun)
        end = time.perf_counter() + minutes * 60
        while time.perf_counter() < end:
            await type_text(page, visitor)
            await open_head(page, visitor, "ArrowRight")
            await open_head(page, visitor, "ArrowDown")
            await import_file(page, visitor)
            await page.goto(address, timeout=PATIENCE)
            await page.wait_for_selector(HEAD, timeout=PATIENCE)
        alerts = page.locator("[data-testid=stException], [data-testid=stAlertContentError]")
        visitor.wrong += await alerts.all_inner_texts()
    except Error as error:
        visitor.wrong.append(str(error).splitlines()[0])


async def run(server: Server, browsers: int, minutes: float) -> tuple[list[Visitor], list[float]]:
    """Run all browsers. Return the visitors, and the server's private memory in megabytes once per second."""
    from playwright.async_api import async_playwright

    memory: list[float] = []
    process = psutil.Process(server.process.pid)

    async def watch() -> None:
        while True:
            taken = process.memory_info()
            memory.append((taken.rss - getattr(taken, "shared", 0)) / 2**20)
            await asyncio.sleep(1)

    watching, visitors = asyncio.create_task(watch()), [Visitor(number) for number in range(browsers)]
    async with async_playwright() as started:
        opened = [await started.chromium.launch(executable_path=chromium(), args=FLAGS) for _ in visitors]
        pages = [await each.new_page(viewport={"width": 1440, "height": 900}) for each in opened]
        await asyncio.gather(*(visit(page, visitor, server.address, minutes, browsers)
                               for page, visitor in zip(pages, visitors, strict=True)))
        for each in opened:
            await each.close()
    watching.cancel()
    return visitors, memory


def table(visitors: list[Visitor], memory: list[float]) -> str:
    """Format a table with the median and maximum of each step, errors, and memory."""
    lines = [f"{'step':<6} {'times':>5} {'median':>8} {'slowest':>8}"]
    for step in STEPS:
        every = [seconds for visitor in visitors for seconds in visitor.seconds[step]]
        if every:
            lines.append(f"{step:<6} {len(every):>5} {statistics.median(every):7.2f}s {max(every):7.2f}s")
    lines += [f"browser {visitor.number}: {fault}" for visitor in visitors for fault in visitor.wrong]
    foreign = sum(len(visitor.foreign) for visitor in visitors)
    received = sum(visitor.received for visitor in visitors) / 2**20
    own = sum(visitor.own for visitor in visitors)
    faults = sum(len(visitor.wrong) for visitor in visitors)
    lines.append(f"{len(visitors)} browsers, {faults} faults; in {received:.0f} MB received {own} messages with one's "
                 f"own word and {foreign} with another's")
    lines.append(f"the server's own memory {memory[0]:.0f} MB at the start, {max(memory):.0f} at most, "
                 f"{memory[-1]:.0f} at the end")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browsers", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--json", type=Path, help="file that gets the numbers, with machine and versions")
    wanted = parser.parse_args()
    server = Server(ROOT / "server.py", Path(tempfile.mkdtemp()) / "server.log").wait(180)
    try:
        visitors, memory = asyncio.run(run(server, wanted.browsers, wanted.minutes))
    finally:
        server.stop()
    logged = server.log.read_text(encoding="utf-8")
    machine = f"{os.cpu_count()} cores, {platform.system()}, {datetime.date.today()}"
    print(table(visitors, memory), machine, sep="\n")
    leaked = any(visitor.word in logged for visitor in visitors)
    print("typed text in the server's log" if leaked else "no typed text in the server's log")
    if wanted.json:
        people = [{"browser": each.number, "seconds": each.seconds, "wrong": each.wrong, "foreign": each.foreign}
                  for each in visitors]
        content = {"people": people, "memory_mb": memory, "machine": machine, "python": platform.python_version()}
        wanted.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    sound = all(visitor.own and visitor.seconds["file"] and not visitor.wrong and not visitor.foreign
                for visitor in visitors)
    sys.exit(0 if sound and not leaked else 1)


if __name__ == "__main__":
    main()
