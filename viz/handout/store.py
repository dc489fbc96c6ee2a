"""The handouts of a server's visitors, each under a random name that only its browser knows.

They live in the server's memory, so that a handout survives a reload and is the same in every tab, and where there is a
folder also in a file each, so that they survive a restart. Both are bounded: the handout that nobody has changed or
opened for longest goes first. """
import logging
import re
import secrets
import threading
from collections.abc import Callable
from pathlib import Path

from model.core import files
from model.core.byte_cache import byte_cache
from model.core.limits import LIMITS
from model.core.query import UserError
from viz.handout.files import Handout, load, save

NAME = re.compile(r"[0-9a-f]{32}")
log = logging.getLogger("clearhead")


class HandoutStore:
    """Handouts by name. Safe for threads: a change is made under a lock, on the handout as it is then. folder: gives
    the one of the files, or None where nothing is to be written."""

    def __init__(self, most: int = LIMITS.handouts_bytes, folder: Callable[[], Path | None] = lambda: None) -> None:
        self._most, self._folder, self._lock = most, folder, threading.Lock()
        self._kept = byte_cache(most)

    @staticmethod
    def name(wanted: str | None) -> str:
        """The name itself if it could be one of ours, else a new one."""
        return wanted if wanted and NAME.fullmatch(wanted) else secrets.token_hex(16)

    def get(self, name: str) -> Handout:
        """The handout of this name; an empty one if there is none."""
        with self._lock:
            known = name in self._kept
        stored = None if known else self._read(name)   # not under the lock, for which others would wait
        with self._lock:
            if stored is not None:
                self._kept.setdefault(name, stored)
            handout: Handout = self._kept.get(name, Handout())
            return handout

    def change(self, name: str, how: Callable[[Handout], Handout]) -> Handout:
        """Puts how(handout) in its place. Raises what `how` raises, and then nothing has changed."""
        self.get(name)
        with self._lock:
            changed = self._kept[name] = how(self._kept.get(name, Handout()))
            self._write(name, changed)
            return changed

    def _file(self, name: str) -> Path | None:
        folder = self._folder()
        return None if folder is None or not NAME.fullmatch(name) else folder / f"{name}.handout.json"

    def _read(self, name: str) -> Handout | None:
        file = self._file(name)
        try:
            return None if file is None or not file.is_file() else load(file.read_bytes())
        except (OSError, UserError) as error:
            log.warning("a kept handout cannot be read: %s", error)
            return None

    def _write(self, name: str, handout: Handout) -> None:
        """Whole or not at all; where the disk is full or shut, the memory has it still."""
        file = self._file(name)
        if file is None:
            return
        try:
            if handout == Handout():
                file.unlink(missing_ok=True)
                return
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.write(file, save(handout))
            self._clear(file.parent)
        except (OSError, UserError) as error:
            log.warning("a handout cannot be kept on disk: %s", error)

    def _clear(self, folder: Path) -> None:
        """Files beyond the bound go, the oldest first; never the newest."""
        total = 0
        for place, file in enumerate(sorted(folder.glob("*.handout.json"), key=lambda file: file.stat().st_mtime,
                                            reverse=True)):
            total += file.stat().st_size
            if place and total > self._most:
                file.unlink(missing_ok=True)
