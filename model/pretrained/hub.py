"""Downloads a model from the Hugging Face hub: only safetensors and text files, resumed where it stopped, every file
checked."""
import errno
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from model.core.files import make_folder, put
from model.core.query import UnknownModel, UserError, quoted
from model.core.types import Progress
from model.pretrained.environment import set_variables
from model.pretrained.files import sha256

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
WANTED = re.compile(r"README\.md|(1_Pooling/)?[A-Za-z0-9][A-Za-z0-9._-]*\.(json|txt|model|spm|jinja|safetensors)")
# errors of a disk that has no room, and of one that may not be written to
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
SHUT = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}
NETWORK = ("httpx", "httpx2", "httpcore", "httpcore2", "huggingface_hub")   # packages whose errors are the network's
BLOCK = 1 << 20  # bytes read at a time, between looks at whether anybody still waits


def _model_info(hub_id: str) -> Any:
    """What the hub says of a model: its commit, and name, size and checksum of its files. Where it has only pickled
    weights, of the hub's own proposal with safetensors."""
    from huggingface_hub import HfApi

    info = HfApi().model_info(hub_id, files_metadata=True, timeout=20)
    if _has_safetensors(info):
        return info
    proposals = (thread for thread in HfApi().get_repo_discussions(hub_id)
                 if thread.is_pull_request and "safetensors" in thread.title.lower())
    proposed = (HfApi().model_info(hub_id, revision=f"refs/pr/{proposal.num}", files_metadata=True, timeout=20)
                for proposal in proposals)
    return next(filter(_has_safetensors, proposed), info)


def _has_safetensors(info: Any) -> bool:
    return any(file.rfilename.endswith(".safetensors") for file in info.siblings or ())


def check_id(hub_id: str) -> str:
    """The id, if it can be one. Raises UserError otherwise, so that nothing but an id is ever asked of the hub or
    joined to a path."""
    if not ID.fullmatch(hub_id) or ".." in hub_id or "--" in hub_id or hub_id[-1] in "-.":
        raise UnknownModel(f"{quoted(hub_id)} is no hub id; give owner/name, such as openai-community/gpt2, or a "
                           f"folder.")
    return hub_id


def download(hub_id: str, folder: Path, report: Progress) -> dict:
    """Brings a model's files into `folder` and gives their origin, for its mark. Stops where `report` raises, and goes
    on from there when asked again. Raises UserError, Unreachable where there is no hub."""
    set_variables()
    try:
        info = _model_info(check_id(hub_id))
        files = _wanted(hub_id, info.siblings or [])
        total, done = sum(file.size for file in files), 0
        for file in files:
            _fetch(hub_id, info.sha, file, folder, partial(_Bar, report, file.rfilename, done, total))
            done += file.size
    except UserError:
        raise
    except Exception as error:
        raise _as_user_error(hub_id, error) from error
    return {"source": "hub", "id": hub_id, "commit": info.sha}


def _wanted(hub_id: str, listed: list[Any]) -> list[Any]:
    """The files (huggingface_hub's RepoSibling) that are needed: text files and the model's own safetensors, never a
    pickle, never a path that leaves the folder."""
    files = {file.rfilename: file for file in listed if WANTED.fullmatch(file.rfilename)}
    shards = [name for name in files if re.fullmatch(r"model(-\d+-of-\d+)?\.safetensors", name)]
    if not shards:
        raise UserError(f"{hub_id} has no safetensors weights, and pickled ones are never opened here; choose another "
                        f"model.")
    single = [name for name in shards if name == "model.safetensors"]
    texts = [name for name in files if not name.endswith(".safetensors")
             and (not single or name != "model.safetensors.index.json")]
    return [files[name] for name in texts + (single or shards)]


class _Bar(AbstractContextManager):
    """The progress bar that huggingface_hub asks for, of one file; what `report` raises stops the download."""

    def __init__(self, report: Progress, name: str, before: int, whole: int, initial: int, **ignored: Any) -> None:
        self.report, self.name, self.size, self.whole = report, name, before + initial, whole   # sizes in bytes

    def __exit__(self, *ignored: object) -> None:
        """Nothing to take away."""

    def update(self, count: int) -> None:
        """So many bytes more are there; fewer where a file has to begin again."""
        self.size += count
        self.report(self.size / max(self.whole, 1),
                    f"downloading {self.name}: {self.size / 1e6:,.0f} of {self.whole / 1e6:,.0f} MB")


def _fetch(hub_id: str, commit: str, file: Any, folder: Path, bar: Callable[..., _Bar]) -> None:
    """One file, by way of NAME.part, which stays if this stops: hf_hub_download throws away what it has of a file then.
    A file that is there and right is not fetched again."""
    from huggingface_hub import constants, file_download, hf_hub_url
    from huggingface_hub.utils import build_hf_headers

    path = folder / file.rfilename
    make_folder(path.parent)
    if path.is_file() and _is_intact(path, file):
        return
    # its own 10 MB take long over a slow line: nobody could stop it meanwhile, and they are lost where it breaks off
    constants.DOWNLOAD_CHUNK_SIZE = BLOCK
    part = path.with_name(path.name + ".part")
    resumes = part.is_file() and part.stat().st_size <= file.size
    with part.open("ab" if resumes else "wb") as stream:
        # not compressed: a range of a compressed file is none of the file
        file_download.http_get(hf_hub_url(hub_id, file.rfilename, revision=commit), stream, resume_size=stream.tell(),
                               headers=build_hf_headers(headers={"Accept-Encoding": "identity"}),
                               expected_size=file.size, tqdm_class=bar)
    if not _is_intact(part, file):
        part.unlink()
        raise UserError(f"{file.rfilename} of {hub_id} arrived damaged (its checksum differs) and was removed; fetch "
                        f"the model again.")
    put(part, path)


def _is_intact(path: Path, file: Any) -> bool:
    """Whether its checksum is the hub's: sha256 for large files, git's sha1 for small ones."""
    from huggingface_hub.utils.sha import git_hash

    return sha256(path) == file.lfs.sha256 if file.lfs else git_hash(path.read_bytes()) == file.blob_id


class Unreachable(UserError):
    """No network, or no hub behind it."""


def _as_user_error(hub_id: str, error: Exception) -> Exception:
    """The network's or the hub's error as one sentence; any other, such as a cancellation, as it is."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return UserError(f"{hub_id} asks for an agreement on its hub page; agree there and log in with the hub's own "
                         f"tool, or choose another model.")
    if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
        return UnknownModel(f"The hub has no model {hub_id}, or not for everybody; check its owner and name.")
    if isinstance(error, OSError) and error.errno in FULL | SHUT:
        return error   # of this disk, not of the network
    if isinstance(error, OSError) or type(error).__module__.split(".")[0] in NETWORK:
        return Unreachable(f"The hub cannot be reached ({type(error).__name__}), so {hub_id} was not fetched; models "
                           f"on this disk still work.")
    return error
