"""Print handouts and other HTML files as PDF with a local Chromium, one at a time.

Chromium's sandbox does not work for root. A public server sets CLEARHEAD_PDF_SANDBOX=1 to print only inside the
sandbox; as root, it then offers no PDF.
"""
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clearhead.model.core import files
from clearhead.model.core.files import TemporaryFolder
from clearhead.model.core.query import UserError
from clearhead.viz.export.handout.files import Handout
from clearhead.viz.export.handout.page import NONE, Photographs, page
from clearhead.viz.style.text import strings

WORDS = strings("handout")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
            "msedge")
WINDOWS = (r"Google\Chrome\Application\chrome.exe", r"Chromium\Application\chrome.exe",
           r"Microsoft\Edge\Application\msedge.exe")
MACOS = ("Google Chrome", "Chromium", "Microsoft Edge")
FLAGS = ("--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--no-first-run", "--disable-extensions")
SECONDS, PATIENCE, WAITING = 120, 60, 3   # seconds per print, longest wait in seconds, largest number waiting
_turn, _places = threading.Lock(), threading.BoundedSemaphore(1 + WAITING)


def browser() -> str | None:
    """Return the path of a Chromium from BROWSER_PATH, the PATH or the usual folders; None if there is none or if the
    sandbox is required but unavailable."""
    if _needs_sandbox() and _is_root():
        return None
    return next(filter(None, map(shutil.which, (os.environ.get("BROWSER_PATH", ""), *BROWSERS, *installed_browsers()))),
                None)


def _needs_sandbox() -> bool:
    return os.environ.get("CLEARHEAD_PDF_SANDBOX") == "1"


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def installed_browsers() -> list[str]:
    """Return the usual locations of browsers on Windows and macOS, which are not on the PATH there."""
    if sys.platform == "win32":
        folders = (os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"))
        return [rf"{folder}\{program}" for folder in folders if folder for program in WINDOWS]
    return [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in MACOS] if sys.platform == "darwin" else []


def commands() -> list[tuple[str, ...]]:
    """Return the commands that start a Chromium, to be tried in turn. Raises UserError if there is none."""
    chromium = browser()
    if chromium is None:
        raise UserError(WORDS["no_browser"])
    tries: list[tuple[str, ...]] = [] if _is_root() else [(chromium, *FLAGS)]
    if not _needs_sandbox():   # some systems do not allow user programs to create sandboxes
        tries.append((chromium, *FLAGS, "--no-sandbox"))
    return tries


def pdf(handout: Handout, photographs: Photographs = NONE) -> bytes:
    """Print the handout as PDF, with matrices and lines as vector graphics. photographs: see `page`. Raises UserError
    if there is no Chromium or printing fails."""
    return printed(page(handout, photographs))


def printed(content: bytes) -> bytes:
    """Print an HTML file as PDF. Raises UserError if there is no Chromium, printing fails or too many are waiting."""
    tries = commands()
    with _one_at_a_time(), TemporaryFolder("pdf") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        files.write(source, content)
        for command in tries:
            printing = [*command, "--no-pdf-header-footer", "--virtual-time-budget=20000",
                        f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()]
            try:
                subprocess.run(printing, capture_output=True, timeout=SECONDS, check=True)
                return target.read_bytes()
            except subprocess.TimeoutExpired as error:
                raise UserError(WORDS("too_slow", seconds=SECONDS)) from error
            except (OSError, subprocess.SubprocessError) as error:
                failure = error
        raise UserError(WORDS["no_print"]) from failure


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Wait until no other print of this process is running. Raises UserError if too many prints are waiting or the wait
    is too long."""
    if not _places.acquire(blocking=False):
        raise UserError(WORDS("queue_full", count=WAITING))
    try:
        if not _turn.acquire(timeout=PATIENCE):
            raise UserError(WORDS("queue_slow", seconds=PATIENCE))
        try:
            yield
        finally:
            _turn.release()
    finally:
        _places.release()
