"""Downloads a model from the Hugging Face hub: only safetensors and text files, resumed where it stopped, every file
checked."""
import errno
import hashlib
import re
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from model.core.files import make_folder, put
from model.core.query import UnknownModel, UserError, quoted
from model.core.types import Progress
from model.pretrained.accounting import CODE
from model.pretrained.environment import set_variables
from model.pretrained.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, INDEX, WEIGHTS, sha256

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
WANTED = re.compile(r"README\.md|(1_Pooling/)?[A-Za-z0-9][A-Za-z0-9._-]*\.(json|txt|model|spm|jinja|safetensors)")
# errors of a disk that has no room, and of one that may not be written to
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
SHUT = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}
CLIENT = ("httpx", "httpx2", "httpcore", "httpcore2")   # packages whose errors are the line's
BLOCK = 1 << 20  # bytes read at a time, between looks at whether anybody still waits
TRIES, SECONDS = 5, 10.0   # of a request that brings nothing, and for which a server may be silent
MOST = 100   # names of files with code that are kept
BOT = "SFconvertbot"   # the hub's own, which proposes safetensors where a repository has only pickled weights


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
        from huggingface_hub import HfApi

        info = HfApi().model_info(check_id(hub_id), files_metadata=True, timeout=20)
        origin: dict[str, Any] = {"source": "hub", "id": hub_id, "commit": info.sha}
        files = [(file, info.sha) for file in [*_texts(info), *_weights(info)]]
        if not _weights(info):
            proposed, origin["weights"] = _proposed_by_the_bot(hub_id)
            files += [(file, proposed.sha) for file in _weights(proposed)]
        code = sorted(file.rfilename for file in info.siblings or () if file.rfilename.endswith(CODE))
        if code:   # is not brought, and not run, but counts
            origin["unread"] = code[:MOST]
        total, done = sum(file.size for file, _ in files), 0
        for file, commit in files:
            for size in _fetch(hub_id, commit, file, folder):
                report((done + size) / max(total, 1), f"downloading {file.rfilename}: {(done + size) / 1e6:,.0f} of "
                                                      f"{total / 1e6:,.0f} MB")
            done += file.size
    except UserError:
        raise
    except Exception as error:
        raise _as_user_error(hub_id, error) from error
    return origin


def _texts(info: Any) -> list[Any]:
    """The text files (huggingface_hub's RepoSibling) that a model needs, never a path that leaves the folder."""
    return [file for file in info.siblings or () if WANTED.fullmatch(file.rfilename)
            and not file.rfilename.endswith((".safetensors", INDEX))]


def _weights(info: Any) -> list[Any]:
    """The files of a model's weights and of its adapter, or of an adapter alone; never a pickle. None where the model's
    own weights are pickled."""
    files = {file.rfilename: file for file in info.siblings or ()}
    model = [WEIGHTS] if WEIGHTS in files else [
        name for name in files if name == INDEX or re.fullmatch(r"model-\d+-of-\d+\.safetensors", name)]
    adapter = [ADAPTER_WEIGHTS] if {ADAPTER_WEIGHTS, ADAPTER_CONFIG} <= set(files) else []
    pickled = not model and any(name.startswith("pytorch_model") for name in files)
    return [files[name] for name in ([] if pickled else sorted(model) + adapter) if name != INDEX or len(model) > 1]


def _proposed_by_the_bot(hub_id: str) -> tuple[Any, dict]:
    """What the hub says of the open pull request of its own conversion bot, and where that is. Raises UserError where
    there is none: anybody may propose weights."""
    from huggingface_hub import HfApi

    for thread in HfApi().get_repo_discussions(hub_id, author=BOT, discussion_type="pull_request"):
        if thread.author == BOT and thread.is_pull_request and thread.status == "open":
            info = HfApi().model_info(hub_id, revision=f"refs/pr/{thread.num}", files_metadata=True, timeout=20)
            if _weights(info):
                return info, {"commit": info.sha, "pull_request": thread.num, "author": BOT}
    raise UserError(f"{hub_id} has no safetensors weights, and pickled ones are never opened here; choose another "
                    f"model.")


def _fetch(hub_id: str, commit: str, file: Any, folder: Path) -> Iterator[int]:
    """One file, by way of NAME.part, which stays if this stops: hf_hub_download throws away what it has of a file then.
    Yields how many bytes are there. A file that is there and right is not fetched again."""
    path = folder / file.rfilename
    make_folder(path.parent)
    if path.is_file() and _is_intact(path, file):
        return
    part, tries = path.with_name(path.name + ".part"), TRIES
    with part.open("ab") as stream:
        if stream.tell() > file.size:
            stream.truncate(0)
        while stream.tell() < file.size:
            before = stream.tell()
            try:
                yield from _stream(hub_id, commit, file, stream)
            except Exception as error:
                if not tries or type(error).__module__.split(".")[0] not in CLIENT:
                    raise
                time.sleep(1)
            tries = TRIES if stream.tell() > before else tries - 1
    if not _is_intact(part, file):
        part.unlink()
        raise UserError(f"{file.rfilename} of {hub_id} arrived damaged (its checksum differs) and was removed; fetch "
                        f"the model again.")
    put(part, path)


def _stream(hub_id: str, commit: str, file: Any, stream: IO[bytes]) -> Iterator[int]:
    """Appends what is missing of a file, in one request."""
    from huggingface_hub import get_session, hf_hub_url, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers

    # not compressed: a range of a compressed file is none of the file
    headers = build_hf_headers(headers={"Accept-Encoding": "identity", "Range": f"bytes={stream.tell()}-"})
    url = hf_hub_url(hub_id, file.rfilename, revision=commit)
    with get_session().stream("GET", url, headers=headers, timeout=SECONDS) as response:
        hf_raise_for_status(response)
        if response.status_code != HTTPStatus.PARTIAL_CONTENT:
            stream.truncate(0)
        for block in response.iter_bytes(BLOCK):
            stream.write(block)
            yield stream.tell()
            if stream.tell() > file.size:
                return


def _is_intact(path: Path, file: Any) -> bool:
    """Whether its checksum is the hub's: sha256 for large files, git's sha1 for small ones."""
    if file.lfs:
        return sha256(path) == file.lfs.sha256
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == file.blob_id


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
    if isinstance(error, OSError) or type(error).__module__.split(".")[0] in (*CLIENT, "huggingface_hub"):
        return Unreachable(f"The hub cannot be reached ({type(error).__name__}), so {hub_id} was not fetched; models "
                           f"on this disk still work.")
    return error
