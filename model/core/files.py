"""Write files atomically, find the shipped assets, and make temporary folders."""
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

from clearhead.model.core.query import UserError, first_line

ROOT = Path(__file__).parents[2]   # the checkout, or the folder that the wheel was installed into
ASSETS = next(each for each in (ROOT / "clearhead" / "assets", ROOT / "assets") if each.is_dir())


def app_folder() -> Path:
    """Return the folder of app.py and server.py."""
    return ROOT / "run" if (ROOT / "run").is_dir() else ROOT


def home() -> Path:
    """Return the folder for downloaded and converted models: CLEARHEAD_HOME, or ~/.cache/clearhead."""
    path = os.environ.get("CLEARHEAD_HOME") or "~/.cache/clearhead"
    try:
        return Path(path).expanduser()
    except RuntimeError as error:   # as in a container without a user
        raise UserError(f"{path} refers to a home folder that does not exist; set CLEARHEAD_HOME to an existing "
                        f"folder.") from error


PATIENCE = 5.0   # seconds to keep retrying while another program has a file open
PAUSE = 0.02     # seconds between two attempts
# reserved device names on Windows, with any file extension
DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}
UNFINISHED = re.compile(r".*\.clearhead-[0-9a-f]{16}\.new", re.DOTALL)   # written beside the target until complete
ABANDONED = 86_400   # seconds without a write after which an unfinished file counts as abandoned

# errors of a disk, unlike those of a network
DISK = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR,
                  errno.EEXIST, errno.ENOENT, errno.EISDIR, errno.ENAMETOOLONG))
RUST = re.compile(r"\(os error (\d+)\)")   # the end of a Rust library's I/O error message


def disk_error(error: BaseException) -> OSError | None:
    """Return the I/O error behind `error`, including errors raised by Rust libraries (safetensors, tokenizers), or
    None."""
    if isinstance(error, OSError):
        return error
    number = RUST.search(str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None


def unwritable(place: Path | str, error: OSError) -> UserError:
    """Return an error that says why `place` could not be written and what to do."""
    why = error.strerror or first_line(error, 120)
    return UserError(f"{place} could not be written ({why}); make room there, or choose another place.")


def put(new: Path, place: Path) -> None:
    """Move a file over the one at `place`, or a folder to a free path.

    Windows refuses while another program, such as a virus scanner, has the target open; the move is retried for
    PATIENCE seconds before UserError is raised.
    """
    end = time.perf_counter() + PATIENCE
    while True:
        try:
            os.replace(new, place)  # noqa: PTH105, TID251 (tests simulate Windows here)
            return
        except PermissionError as error:
            if time.perf_counter() > end:
                raise UserError(f"{place} could not be replaced because another program has it open or it is not "
                                f"writable; close that program and try again.") from error
            time.sleep(PAUSE)


@contextmanager
def locked(place: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock at `place` within the block. `waiting` is called while another process holds it, and may raise to
    give up. The operating system releases the lock when the process ends."""
    lock = FileLock(place)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0.2)
        except Timeout:
            waiting()
    try:
        yield
    finally:
        with suppress(OSError):   # Windows cannot remove an open file
            place.unlink(missing_ok=True)
        lock.release()


def write(place: Path, content: bytes) -> None:
    """Write a file atomically. Raises UserError like `beside`."""
    with writing(place) as file:
        file.write(content)


@contextmanager
def writing(place: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears at `place` once the block has ended without an error. Raises UserError like
    `beside`."""
    with beside(place) as new, new.open("wb") as file:
        yield file


@contextmanager
def disk_errors(refusal: Callable[[OSError], UserError]) -> Iterator[None]:
    """Convert any I/O error inside the block, including those of Rust libraries, to the error that `refusal`
    returns."""
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
    """Yield a path to write to. When the block ends, its file is flushed and moved to `place`; until then, other
    readers find the old file intact, even after a crash. Each writer has its own path. If the block raises, the old
    file stays and the new one is removed. I/O errors become UserError.

    Links are followed. Pipes and devices such as /dev/stdout are written to directly.
    """
    with disk_errors(lambda error: unwritable(place, error)):
        if not is_replaceable(place):
            yield place
            return
        final = Path(os.path.realpath(place))
        remove_abandoned(final.parent)
        new = final.with_name(f"{final.name[:40]}.clearhead-{secrets.token_hex(8)}.new")
        try:
            yield new
            with suppress(FileNotFoundError):   # keep the old file's permissions; a new file gets the usual ones
                shutil.copymode(final, new)
            flush(new)
            put(new, final)
        finally:
            with suppress(OSError):
                new.unlink()


def is_replaceable(place: Path) -> bool:
    """Return whether a file can be moved to `place`: it is free or holds a regular file. Raises OSError for a
    folder."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    return stat.S_ISREG(mode)


def remove_abandoned(folder: Path) -> None:
    """Remove unfinished files that killed writers left in a folder."""
    with suppress(OSError):
        for path in folder.iterdir():
            if UNFINISHED.fullmatch(path.name) and abs(time.time() - path.stat().st_mtime) > ABANDONED:
                path.unlink(missing_ok=True)


def flush(place: Path) -> None:
    """Flush a file, or every file of a folder, to disk. Raises OSError."""
    for path in place.rglob("*") if place.is_dir() else (place,):
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and its parents if missing. Raises UserError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise unwritable(folder, error) from error


def refuse_overwriting(out: Path, *read: Path) -> None:
    """Raise UserError if `out` cannot be written, or is one of the files being read, under any name or link."""
    if out.exists() and not out.is_file():   # writing would replace a device by a regular file
        raise UserError(f"{out} exists and is not a file; choose another path.")
    if not out.absolute().parent.is_dir():
        raise UserError(f"There is no folder {out.parent}; create it or choose another path.")
    for path in read:
        if path.exists() and out.exists() and path.samefile(out):
            raise UserError(f"{out} is the input file ({path}) and would be overwritten; choose another path "
                            f"for the output.")


def clear(folder: Path) -> None:
    """Remove a folder. Files that Windows keeps open are retried for PATIENCE seconds and then left."""
    end = time.perf_counter() + PATIENCE
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.perf_counter() < end:
        time.sleep(PAUSE)
        shutil.rmtree(folder, ignore_errors=True)


def storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def name_for(text: str, otherwise: str) -> str:
    """Turn any text into a file name without extension, using only letters, digits, dots and hyphens; return
    `otherwise` if none of them remain."""
    return no_device(re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60].rstrip("-.") or otherwise)


def no_device(name: str) -> str:
    """Return the name, changed if it is a device name on Windows."""
    return f"file-{name}" if name.partition(".")[0].upper() in DEVICES else name


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder of this process, removed by `cleanup()`, at the end of a `with` block or when the process
    ends."""

    def __init__(self, purpose: str) -> None:
        """Create the folder. `purpose` is a word in its name. Raises UserError if that fails."""
        with disk_errors(lambda error: unwritable(tempfile.gettempdir(), error)):
            super().__init__(prefix=f"clearhead-{purpose}-", ignore_cleanup_errors=True)
        self.path = Path(self.name)

    def __enter__(self) -> Path:   # type: ignore[override]
        return self.path
