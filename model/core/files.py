"""Write files whole or not at all, find the shipped assets, and make temporary folders."""
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from model.core.query import UserError, first_line

ROOT = Path(__file__).parents[2]   # the checkout, or the folder that a wheel was installed into
ASSETS = next(each for each in (ROOT / "clearhead" / "assets", ROOT / "assets") if each.is_dir())


PATIENCE = 5.0   # seconds that a file which another program has open is tried for
PAUSE = 0.02     # seconds between two tries
# names that Windows gives to devices, whatever the ending
DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}
UNFINISHED = re.compile(r".*\.clearhead-[0-9a-f]{16}\.new", re.DOTALL)   # beside a place, until it is whole
ABANDONED = 86_400   # seconds without a byte after which an unfinished file has no writer any more

# why a disk refuses, and the way out
REASONS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), ("the disk is full", "make room and try again")),
    errno.EFBIG: ("files may not be so large there", "choose another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), ("it may not be written to", "choose another place")),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), ("a file stands where a folder should be", "choose another place")),
    errno.ENOENT: ("its folder is not there", "make the folder, or choose another place"),
    errno.EISDIR: ("it is a folder", "give the name of a file"),
    errno.ENAMETOOLONG: ("its name is too long", "choose a shorter one"),
}
RUST = re.compile(r"\(os error (\d+)\)")   # how libraries in Rust end the text of an error of the disk


def disk_error(error: BaseException) -> OSError | None:
    """Return the error of the disk that `error` is, also as a library in Rust (safetensors, tokenizers) words it; else
    None."""
    if isinstance(error, OSError):
        return error
    number = RUST.search(str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None


def unwritable(place: Path | str, error: OSError) -> UserError:
    """Return the sentence for a place that could not be written: why, and the way out."""
    reason, way_out = REASONS.get(error.errno or 0, (first_line(error, 120), "choose another place"))
    return UserError(f"{place} could not be written, as {reason}; {way_out}.")


def put(new: Path, place: Path) -> None:
    """Move a file over the one at `place`, or a folder to a place where there is none.

    Windows refuses while another program has a file open there, as a reader or a virus scanner has for milliseconds; so
    it is tried for PATIENCE seconds before UserError is raised.
    """
    end = time.perf_counter() + PATIENCE
    while True:
        try:
            os.replace(new, place)  # noqa: PTH105, TID251 (tests simulate Windows here)
            return
        except PermissionError as error:
            if time.perf_counter() > end:
                raise UserError(f"{place} could not be replaced, as another program has it open or it may not be "
                                f"written to; close what reads it and try again.") from error
            time.sleep(PAUSE)


@contextmanager
def locked(place: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Within the block no other process holds the lock at `place`; `waiting` is called while one does, and may raise to
    give up. The system releases the lock when the process ends, however it ends."""
    lock = FileLock(place)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0.2)
        except Timeout:
            waiting()
    try:
        yield
    finally:
        with suppress(OSError):   # Windows removes no file that is open
            place.unlink(missing_ok=True)
        lock.release()


def write(place: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises UserError as `beside` does."""
    with writing(place) as file:
        file.write(content)


@contextmanager
def writing(place: Path) -> Iterator[BinaryIO]:
    """A file to write to, which stands at `place` once the block has ended without an error. Raises UserError as
    `beside` does."""
    with beside(place) as new, new.open("wb") as file:
        yield file


@contextmanager
def disk_errors(refusal: Callable[[OSError], UserError]) -> Iterator[None]:
    """Round what writes: an error of the disk, however it is worded, is raised as what `refusal` makes of it."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        cause = disk_error(error)
        if cause is None:
            raise
        raise refusal(cause) from error


@contextmanager
def beside(place: Path) -> Iterator[Path]:
    """A path to be written within the block; what is there in the end is flushed and moved to `place`, so that whoever
    reads meanwhile, or after a crash, finds the old file whole. Each writer has a path of its own. Where the block
    raises, nothing is left and the old file stays; an error of the disk becomes UserError.

    A link is followed. What is no file, such as a pipe or /dev/stdout, is written to directly. """
    with disk_errors(lambda error: unwritable(place, error)):
        if not is_replaceable(place):
            yield place
            return
        final = Path(os.path.realpath(place))
        remove_abandoned(final.parent)
        new = final.with_name(f"{final.name[:40]}.clearhead-{secrets.token_hex(8)}.new")
        try:
            yield new
            with suppress(FileNotFoundError):   # of the old file; a new one gets the rights of any new file
                shutil.copymode(final, new)
            flush(new)
            put(new, final)
        finally:
            with suppress(OSError):
                new.unlink()


def is_replaceable(place: Path) -> bool:
    """Return whether a file may be moved there: there is one, or nothing. Raises OSError for a folder."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    return stat.S_ISREG(mode)


def remove_abandoned(folder: Path) -> None:
    """Remove what writers that were killed have left unfinished in a folder."""
    with suppress(OSError):
        for path in folder.iterdir():
            if UNFINISHED.fullmatch(path.name) and abs(time.time() - path.stat().st_mtime) > ABANDONED:
                path.unlink(missing_ok=True)


def flush(place: Path) -> None:
    """See a file, or every file of a folder, from the system's memory to the disk. Raises OSError."""
    for path in place.rglob("*") if place.is_dir() else (place,):
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those that it is in, where they are not there. Raises UserError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise unwritable(folder, error) from error


def refuse_overwriting(out: Path, *read: Path) -> None:
    """Raise UserError if no file can be written there, or where it is one that is read, by whatever name or link."""
    if out.exists() and not out.is_file():   # of a device a new file would take the place
        raise UserError(f"{out} is there and no file; choose another place.")
    if not out.absolute().parent.is_dir():
        raise UserError(f"There is no folder {out.parent}; make it, or choose another place.")
    for path in read:
        if path.exists() and out.exists() and path.samefile(out):
            raise UserError(f"{out} is the file that is read ({path}) and would be overwritten; choose another place "
                            f"for the output.")


def clear(folder: Path) -> None:
    """Remove a folder. What Windows keeps because it is open is tried for PATIENCE seconds and then left there."""
    end = time.perf_counter() + PATIENCE
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.perf_counter() < end:
        time.sleep(PAUSE)
        shutil.rmtree(folder, ignore_errors=True)


def name_for(text: str, otherwise: str) -> str:
    """Return a name for a file, without its ending, out of any text: letters, digits, dots and hyphens; `otherwise`
    where nothing of it is left."""
    return no_device(re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60].rstrip("-.") or otherwise)


def no_device(name: str) -> str:
    """Return the name, changed where Windows would take it for one of its devices."""
    return f"file-{name}" if name.partition(".")[0].upper() in DEVICES else name


class TemporaryFolder:
    """A folder of this process, in the system's folder for such; `remove` takes it away, or the end of a `with`, or
    that of the process."""

    def __init__(self, purpose: str) -> None:
        """purpose: a word in its name. Raises UserError if it cannot be made."""
        try:
            self._made = tempfile.TemporaryDirectory(prefix=f"clearhead-{purpose}-", ignore_cleanup_errors=True)
        except OSError as error:
            raise unwritable(Path(tempfile.gettempdir()), error) from error
        self.path = Path(self._made.name)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        self._made.cleanup()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()
