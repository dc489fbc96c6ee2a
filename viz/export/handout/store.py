"""Store the handouts of a server's visitors, each under a random name that only its browser knows.

Handouts are kept in memory, so that they survive a reload and are shared by all tabs. If there is a folder, they are
also written to files, so that they survive a restart and are shared by two servers of the same user, whose browser uses
one name for both. Memory and folder are bounded: the handout that has not been changed or opened for the longest time
is dropped first.
"""
import logging
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from clearhead.model.core import files
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.memory import ByteCache
from clearhead.model.core.query import UserError, first_line, frozen
from clearhead.viz.export.handout.files import Handout, load, save

NAME = re.compile(r"[0-9a-f]{32}")
ENDING, ASIDE = ".handout.json", ".set-aside.json"   # extensions of handouts and of unreadable files
log = logging.getLogger("clearhead")

State = tuple[int, int, int]   # identity of a file's content: inode, size, modification time
EMPTY = Handout()
MOST_UNDONE = 50   # changes of a handout


@frozen
class Stored:
    """A handout in memory, and the known state of its file."""

    handout: Handout = EMPTY
    seen: State | None = None   # the file's state when last read or written; None if there was no file
    unsaved: str = ""           # why the file does not contain this handout, as a sentence, or ""
    aside: str = ""             # new location of an unreadable file and why it could not be read, or ""
    before: tuple[Handout, ...] = ()   # the handouts before the last changes, the latest last

    @property
    def nbytes(self) -> int:
        """Estimated size in memory."""
        return _bytes_of((*self.before, self.handout)) + 100


class HandoutStore:
    """Handouts by name, for several threads and for several processes that share a folder: a change is applied to the
    current handout under a lock. most: limit in bytes. folder: returns the folder for files, or None if no files may be
    written."""

    def __init__(self, most: int = LIMITS.handouts_bytes, folder: Callable[[], Path | None] = lambda: None) -> None:
        self._most, self._folder, self._lock = most, folder, threading.Lock()
        self._stored: ByteCache[str, Stored] = ByteCache(most)

    @staticmethod
    def name(wanted: object) -> str:
        """Return the name if it is valid, otherwise a new random name."""
        return wanted if isinstance(wanted, str) and NAME.fullmatch(wanted) else secrets.token_hex(16)

    def get(self, name: str) -> Handout:
        """Return the handout with this name, or an empty one."""
        return self.stored(name).handout

    def stored(self, name: str) -> Stored:
        """Return the handout with this name and the state of its file."""
        with self._lock:
            known = self._stored.get(name) or Stored()
            now = self._as_on_disk(name, known)
            if now != known:
                self._stored[name] = now
            return now

    def change(self, name: str, how: Callable[[Handout], Handout]) -> Handout:
        """Replace the handout with how(handout) and return it. If `how` raises, the handout is unchanged."""
        def changed(now: Stored) -> Stored:
            after = how(now.handout)
            return now if after == now.handout else replace(
                now, handout=after, before=_remembered((*now.before, now.handout)))

        return self._put(name, changed)

    def undo(self, name: str) -> None:
        """Bring back the handout before the last change that is remembered."""
        self._put(name, lambda now: replace(now, handout=now.before[-1], before=now.before[:-1]) if now.before else now)

    def _put(self, name: str, how: Callable[[Stored], Stored]) -> Handout:
        with self._lock, self._alone() as problem:
            after = how(self._as_on_disk(name, self._stored.get(name) or Stored(), locked=True))
            self._stored[name] = replace(after, unsaved=problem) if problem else self._written(name, after)
            return after.handout

    def _file(self, name: str) -> Path | None:
        folder = self._folder()
        return None if folder is None or not NAME.fullmatch(name) else folder / f"{name}{ENDING}"

    @contextmanager
    def _alone(self) -> Iterator[str]:
        """Lock the folder against other processes for the block. Yields "", or a sentence if that is impossible."""
        folder, lock, problem = self._folder(), None, ""
        if folder is not None:
            try:
                files.make_folder(folder, mode=0o700)
                lock = FileLock(folder.with_name(f"{folder.name}.lock"))
                lock.acquire(timeout=files.PATIENCE)
            except OSError as error:   # includes Timeout
                problem = str(files.unwritable(folder, error))
            except UserError as error:
                problem = str(error)
        try:
            yield problem
        finally:
            if lock is not None:
                lock.release()

    def _as_on_disk(self, name: str, known: Stored, locked: bool = False) -> Stored:
        """Return the known handout, or the newer one that another process has written. Unsaved entries are merged."""
        file = self._file(name)
        if file is None or _state_at(file) == known.seen or not file.parent.is_dir():
            return known
        try:
            handout, seen = _read(file)
        except (OSError, UserError) as error:
            return self._set_aside(file, known, error, locked)
        if known.unsaved:
            there = {item.id for item in handout.items}
            own = tuple(item for item in known.handout.items if item.id not in there)
            with suppress(UserError):   # if both together are too large, keep the known one
                return replace(known, handout=replace(handout, items=handout.items + own), seen=seen)
            return replace(known, seen=seen)
        before = _remembered((*known.before, known.handout)) if known.seen else known.before
        return replace(known, handout=handout, seen=seen, before=before)   # so that undoing loses no other change

    def _set_aside(self, file: Path, known: Stored, error: Exception, locked: bool) -> Stored:
        """Rename an unreadable file, so that the next change does not overwrite it."""
        if not locked:
            with self._alone():   # another process may have written a valid file in the meantime
                return self._as_on_disk(file.name.removesuffix(ENDING), known, locked=True)
        place = file.with_name(f"{file.name.removesuffix(ENDING)}-{secrets.token_hex(4)}{ASIDE}")
        log.warning("a handout's file cannot be read and is set aside as %s: %s", place, error)
        try:
            files.put(file, place)
        except (OSError, UserError) as refused:
            return replace(known, unsaved=str(refused), seen=_state_at(file))
        reason = error if isinstance(error, UserError) else first_line(error, 120)
        return replace(known, seen=None, aside=f"{place}: {reason}")

    def _written(self, name: str, stored: Stored) -> Stored:
        """Write the handout's file. If the disk is full or read-only, the handout is only kept in memory."""
        file = self._file(name)
        if file is None:
            return stored
        try:
            if stored.handout == EMPTY:
                file.unlink(missing_ok=True)
            else:
                files.write(file, save(stored.handout))
                self._clear(file)
        except (OSError, UserError) as error:
            log.warning("a handout cannot be written: %s", error)
            return replace(stored, unsaved=str(error) if isinstance(error, UserError)
                           else str(files.unwritable(file, error)))
        return replace(stored, seen=_state_at(file), unsaved="")

    def _clear(self, newest: Path) -> None:
        """Delete the oldest files beyond the limit, but never the file `newest`."""
        total = newest.stat().st_size
        others = [path for path in newest.parent.iterdir() if path != newest and path.name.endswith((ENDING, ASIDE))]
        for file in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True):
            total += file.stat().st_size
            if total > self._most:
                file.unlink(missing_ok=True)


def _bytes_of(handouts: Iterable[Handout]) -> int:
    """Return the size of handouts, whose common entries count once."""
    return sum({id(item): item.nbytes for handout in handouts for item in handout.items}.values())


def _remembered(before: tuple[Handout, ...]) -> tuple[Handout, ...]:
    """Return the latest of these handouts, as many as can be undone: at least one."""
    before = before[-MOST_UNDONE:]
    while len(before) > 1 and _bytes_of(before) > LIMITS.handout_bytes:
        before = before[1:]
    return before


def _read(file: Path) -> tuple[Handout, State | None]:
    """Return (handout, state) of a file, or an empty handout and None if there is no file. Raises OSError and
    UserError."""
    try:
        with file.open("rb") as opened:
            return load(opened.read()), _state(os.fstat(opened.fileno()))
    except FileNotFoundError:
        return EMPTY, None


def _state_at(file: Path) -> State | None:
    try:
        return _state(file.stat())
    except OSError:
        return None


def _state(found: os.stat_result) -> State:
    return found.st_ino, found.st_size, found.st_mtime_ns
