"""The handout as PDF: its own HTML page, printed by a Chromium on this machine."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from model.core.query import UserError
from viz.handout.files import Handout
from viz.handout.page import page
from viz.text import strings

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--disable-extensions", "--no-pdf-header-footer", "--virtual-time-budget=20000")
SECONDS = 120


def browser() -> str | None:
    """The path of a Chromium, from BROWSER_PATH or the PATH; None if there is none."""
    return next(filter(None, map(shutil.which, (os.environ.get("BROWSER_PATH", ""), *BROWSERS))), None)


def pdf(handout: Handout) -> bytes:
    """The PDF, matrices and lines as vectors. Raises UserError without a Chromium, or if it does not print."""
    found = browser()
    if found is None:
        raise UserError(strings("handout")["no_browser"])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "handout.html"), Path(folder, "handout.pdf")
        source.write_bytes(page(handout))
        command = [found, *FLAGS, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise UserError(strings("handout")["too_slow"].format(seconds=SECONDS)) from error


def filename(title: str) -> str:
    """A name for the file, without its ending; only letters, digits, dots and hyphens."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-.")[:60] or "handout"
