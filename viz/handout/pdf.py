"""The handout, or any other HTML file, as PDF: printed by a Chromium on this machine."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from model.core import files
from model.core.query import UserError
from model.core.temporary import TemporaryFolder
from viz.handout.files import Handout
from viz.handout.page import page
from viz.text import strings

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
            "msedge")
WINDOWS = (r"Google\Chrome\Application\chrome.exe", r"Chromium\Application\chrome.exe",
           r"Microsoft\Edge\Application\msedge.exe")
MACOS = ("Google Chrome", "Chromium", "Microsoft Edge")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--no-first-run", "--disable-extensions", "--no-pdf-header-footer", "--virtual-time-budget=20000")
SECONDS = 120


def browser() -> str | None:
    """The path of a Chromium, from BROWSER_PATH, the PATH, or where the system keeps programs; None if there is
    none."""
    return next(filter(None, map(shutil.which, (os.environ.get("BROWSER_PATH", ""), *BROWSERS, *installed_browsers()))),
                None)


def installed_browsers() -> list[str]:
    """Where Windows and macOS keep browsers, which are not on their PATH; kaleido looks there, too."""
    if sys.platform == "win32":
        folders = (os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"))
        return [rf"{folder}\{program}" for folder in folders if folder for program in WINDOWS]
    return [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in MACOS] if sys.platform == "darwin" else []


def pdf(handout: Handout) -> bytes:
    """The PDF, matrices and lines as vectors. Raises UserError without a Chromium, or if it does not print."""
    return printed(page(handout))


def printed(content: bytes) -> bytes:
    """An HTML file as PDF. Raises UserError without a Chromium, or if it does not print."""
    chromium = browser()
    if chromium is None:
        raise UserError(strings("handout")["no_browser"])
    with TemporaryFolder("pdf") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        files.write(source, content)
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise UserError(strings("handout")["too_slow"].format(seconds=SECONDS)) from error
