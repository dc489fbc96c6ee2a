"""Folders for what is not to stay, and their removal when the process that made them was killed."""
import re
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from filelock import FileLock

from model.core import files

LOCK = re.compile(r"clearhead-[a-z]+-[0-9a-f]{16}\.lock")


class TemporaryFolder:
    """A folder of this process, in the system's folder for such; `remove` takes it away, or the end of a `with`.

    A lock file stands beside it, NAME.lock, which the system releases when the process ends, however it ends. So each
    new folder first removes those whose lock nobody holds: no clock and no process number decides that. """

    def __init__(self, purpose: str) -> None:
        """purpose: a word in its name. Raises UserError where it cannot be made."""
        remove_left_behind()
        self.path = Path(tempfile.gettempdir()) / f"clearhead-{purpose}-{secrets.token_hex(8)}"
        self._lock = _lock_of(self.path)
        try:
            self._lock.acquire(blocking=False)
        except OSError as error:
            raise files.unwritable(self.path, error) from error
        files.make_folder(self.path, mode=0o700)

    def remove(self) -> None:
        """Removes the folder with all that is in it."""
        files.clear(self.path)
        with suppress(OSError):   # Windows removes no file that is open: the next folder does then
            _lock_file(self.path).unlink(missing_ok=True)
        self._lock.release()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.remove()


def remove_left_behind() -> None:
    """Removes the folders of processes that have ended without doing so. What belongs to another user is left."""
    with suppress(OSError):
        for lock_file in Path(tempfile.gettempdir()).iterdir():
            if LOCK.fullmatch(lock_file.name):
                folder = lock_file.with_suffix("")
                with suppress(OSError), _lock_of(folder).acquire(blocking=False):   # Timeout is an OSError, too
                    files.clear(folder)
                    lock_file.unlink(missing_ok=True)   # not on Windows, where the next one does


def _lock_file(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _lock_of(folder: Path) -> FileLock:
    # not of one thread: whoever removes a folder need not be the thread that made it
    return FileLock(_lock_file(folder), thread_local=False)
