"""Files put in their place whole or not at all, and names that every system takes."""
import os
import re
import shutil
import time
from pathlib import Path

from model.core.query import UserError

PATIENCE = 5.0   # seconds that a file which another program has open is tried for
PAUSE = 0.02     # seconds between two tries
# names that Windows gives to devices, whatever the ending
DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}


def put(new: Path, place: Path) -> None:
    """Moves a file over the one at `place`, or a folder to a place where there is none.

    Windows refuses while another program has a file open there, as a reader or a virus scanner has for milliseconds; so
    it is tried for PATIENCE seconds before UserError is raised. """
    end = time.perf_counter() + PATIENCE
    while True:
        try:
            os.replace(new, place)
            return
        except PermissionError as error:
            if time.perf_counter() > end:
                raise UserError(f"{place} could not be replaced, as another program has it open or it may not be "
                                f"written to; close what reads it and try again.") from error
            time.sleep(PAUSE)


def write(place: Path, content: bytes) -> None:
    """Writes a file beside `place` and moves it there, so that whoever reads meanwhile finds the old one whole. Raises
    UserError as `put` does."""
    new = place.with_name(place.name + ".new")
    try:
        new.write_bytes(content)
        put(new, place)
    finally:
        new.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Removes a folder. What Windows keeps because it is open is tried for PATIENCE seconds and then left there."""
    end = time.perf_counter() + PATIENCE
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.perf_counter() < end:
        time.sleep(PAUSE)
        shutil.rmtree(folder, ignore_errors=True)


def name_for(text: str, otherwise: str) -> str:
    """A name for a file, without its ending, out of any text: letters, digits, dots and hyphens; `otherwise` where
    nothing of it is left."""
    return no_device(re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60].rstrip("-.") or otherwise)


def no_device(name: str) -> str:
    """The name, changed where Windows would take it for one of its devices."""
    return f"file-{name}" if name.partition(".")[0].upper() in DEVICES else name
