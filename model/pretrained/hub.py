"""Downloads a model from the Hugging Face hub: only safetensors and text files, resumed where it stopped, every file
checked."""
import errno
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from model.core.files import put
from model.core.query import UserError
from model.core.types import Progress

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
WANTED = re.compile(r"README\.md|(1_Pooling/)?[A-Za-z0-9][A-Za-z0-9._-]*\.(json|txt|model|spm|jinja|safetensors)")
# errors of a disk that has no room, and of one that may not be written to
FULL, SHUT = {errno.ENOSPC, errno.EDQUOT}, {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}
NETWORK = ("httpx", "httpx2", "httpcore", "httpcore2", "huggingface_hub")   # packages whose errors are the network's
BLOCK = 1 << 20  # bytes read at a time, between looks at whether anybody still waits


@dataclass(frozen=True)
class Remote:
    """A file of the hub."""

    name: str
    size: int     # bytes
    sha256: str   # of its content for large files, else empty
    blob: str     # git's sha1 of it


class Hub:
    """The hub as this project needs it: what a model consists of, and a file's bytes from some offset on."""

    def files(self, hub_id: str) -> tuple[str, list[Remote]]:
        """(commit, files) of a model; where it has only pickled weights, of the hub's own proposal with safetensors."""
        from huggingface_hub import HfApi

        info = HfApi().model_info(hub_id, files_metadata=True, timeout=20)
        if not _has_safetensors(info):
            proposals = [thread for thread in HfApi().get_repo_discussions(hub_id)
                         if thread.is_pull_request and "safetensors" in thread.title.lower()]
            for proposal in proposals:
                other = HfApi().model_info(hub_id, revision=f"refs/pr/{proposal.num}", files_metadata=True, timeout=20)
                if _has_safetensors(other):
                    info = other
                    break
        return cast(str, info.sha), [
            Remote(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else "", file.blob_id or "")
            for file in info.siblings or ()]

    def read(self, hub_id: str, commit: str, name: str, start: int) -> Iterator[bytes]:
        """The bytes of a file from `start` on."""
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers, get_session

        headers = {**build_hf_headers(), "Accept-Encoding": "identity",
                   **({"Range": f"bytes={start}-"} if start else {})}
        with get_session().stream("GET", hf_hub_url(hub_id, name, revision=commit), headers=headers,
                                  follow_redirects=True) as answer:
            answer.raise_for_status()
            if start and answer.status_code != 206:
                raise OSError("the hub does not resume this file")
            yield from answer.iter_bytes(BLOCK)


def _has_safetensors(info: Any) -> bool:
    return any(file.rfilename.endswith(".safetensors") for file in info.siblings or ())


def check_id(hub_id: str) -> str:
    """The id, if it can be one. Raises UserError otherwise, so that nothing but an id is ever asked of the hub or
    joined to a path."""
    if not ID.fullmatch(hub_id) or ".." in hub_id or "--" in hub_id or hub_id[-1] in "-.":
        raise UserError(f"{hub_id!r} is no hub id; give owner/name, such as openai-community/gpt2, or a folder.")
    return hub_id


def download(hub_id: str, folder: Path, report: Progress, hub: Hub | None = None) -> dict:
    """Brings a model's files into `folder` and gives their origin, for its mark. Stops where `report` raises, and goes
    on from there when asked again. Raises UserError, Unreachable where there is no hub."""
    hub = hub or Hub()
    try:
        commit, listed = hub.files(check_id(hub_id))
        files = _wanted(hub_id, listed)
        total, done = sum(file.size for file in files), 0
        for file in files:
            def progress(size: int, name: str = file.name, before: int = done) -> None:
                report((before + size) / max(total, 1),
                       f"downloading {name}: {(before + size) / 1e6:,.0f} of {total / 1e6:,.0f} MB")

            _fetch(hub, hub_id, commit, file, folder, progress)
            done += file.size
    except UserError:
        raise
    except Exception as error:
        raise _as_user_error(hub_id, error) from error
    return {"source": "hub", "id": hub_id, "commit": commit}


def _wanted(hub_id: str, listed: list[Remote]) -> list[Remote]:
    """The files that are needed: text files and the model's own safetensors, never a pickle, never a path that leaves
    the folder."""
    files = [file for file in listed if WANTED.fullmatch(file.name)]
    shards = [file for file in files if re.fullmatch(r"model(-\d+-of-\d+)?\.safetensors", file.name)]
    if not shards:
        raise UserError(f"{hub_id} has no safetensors weights, and pickled ones are never opened here; choose another "
                        f"model.")
    single = [file for file in shards if file.name == "model.safetensors"]
    texts = [file for file in files if not file.name.endswith(".safetensors")
             and (not single or file.name != "model.safetensors.index.json")]
    return texts + (single or shards)


def _fetch(hub: Hub, hub_id: str, commit: str, remote: Remote, folder: Path, progress: Callable[[int], None]) -> None:
    """One file, by way of NAME.part, which stays if this stops. A file that is there and right is not fetched again."""
    path = folder / remote.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and _is_intact(path, remote):
        return
    part = path.with_name(path.name + ".part")
    start = part.stat().st_size if part.is_file() and part.stat().st_size < remote.size else 0
    with part.open("ab" if start else "wb") as file:
        for block in hub.read(hub_id, commit, remote.name, start):
            file.write(block)
            start += len(block)
            progress(start)
    if not _is_intact(part, remote):
        part.unlink()
        raise UserError(f"{remote.name} of {hub_id} arrived damaged (its checksum differs) and was removed; fetch the "
                        f"model again.")
    put(part, path)


def _is_intact(path: Path, remote: Remote) -> bool:
    """Whether size and checksum are the hub's: sha256 for large files, git's sha1 for small ones."""
    if path.stat().st_size != remote.size:
        return False
    with path.open("rb") as file:
        if remote.sha256:
            return hashlib.file_digest(file, "sha256").hexdigest() == remote.sha256
        return hashlib.sha1(b"blob %d\0" % remote.size + file.read(), usedforsecurity=False).hexdigest() == remote.blob


class Unreachable(UserError):
    """No network, or no hub behind it."""


def _as_user_error(hub_id: str, error: Exception) -> Exception:
    """The network's or the hub's error as one sentence; any other, such as a cancellation, as it is."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return UserError(f"{hub_id} asks for an agreement on its hub page; agree there and log in with the hub's own "
                         f"tool, or choose another model.")
    if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
        return UserError(f"The hub has no model {hub_id}, or not for everybody; check its owner and name.")
    if isinstance(error, OSError) and error.errno in FULL | SHUT:
        return error   # of this disk, not of the network
    if isinstance(error, OSError) or type(error).__module__.split(".")[0] in NETWORK:
        return Unreachable(f"The hub cannot be reached ({type(error).__name__}), so {hub_id} was not fetched; models "
                           f"on this disk still work.")
    return error
