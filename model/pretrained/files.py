"""The files in a model's folder: find them, check that they are complete and unchanged, and name the faulty one in
error messages.

Errors of transformers and its dependencies do not name the faulty file, and tokenizers, written in Rust, raise a panic
that does not derive from Exception. `blame` therefore converts all errors about a folder's content.
"""
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.model.core.query import UserError, first_line, frozen, quoted
from clearhead.model.pretrained import catalogue

if TYPE_CHECKING:
    from clearhead.model.pretrained import Network

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"   # peft's file names
# file types that transformers reads from a folder; pickles are excluded
SUFFIXES = (".json", ".txt", ".model", ".safetensors", ".gguf", ".jinja", ".spm", ".py")
# paths of the text files in a model's folder that may change its answers, or what is said about them; all are fetched
INSIDE = ("1_Pooling", "additional_chat_templates")   # subfolders that are read
TEXTS = rf"(({'|'.join(INSIDE)})/)?[A-Za-z0-9][A-Za-z0-9._-]*\.(json|txt|model|spm|jinja|py|codes|tiktoken|tokenizer)"
# of these, the ones that never do: the note of where the folder came from, legal texts, and logs of a training
IGNORED = re.compile(rf"{re.escape(catalogue.MARK)}|trainer_state\.json|\w+_results\.json|"
                     r"(readme|licen[cs]e|notice|requirements)[^/]*", re.IGNORECASE)
READ = re.compile(rf"{TEXTS}|[^/]+\.safetensors")
# the weights, or the index of their parts
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PANIC = "PanicException"   # error of Rust code, whose class cannot be imported
LONGEST = 200              # maximum number of characters of another package's message
LFS = b"version https://git-lfs"   # start of a Git LFS pointer
AGAIN = "copy or download it again, or choose another model"   # the usual advice about a damaged file
CORRECT = "correct it, or choose another model"                # that about an undamaged file with odd content
DECIMALS = ("F", "BF")     # prefixes of floating-point types in safetensors


@frozen
class Weights:
    """The safetensors files of a model; headers are read once, on first use."""

    files: tuple[Path, ...]

    @cached_property
    def tensors(self) -> dict[str, tuple[Path, str, tuple[int, ...]]]:
        """The tensors, {name: (file, safetensors type, shape)}. Raises UserError, naming the file, if one is
        damaged."""
        return dict(self._stored)

    @cached_property
    def _stored(self) -> list[tuple[str, tuple[Path, str, tuple[int, ...]]]]:
        from safetensors import safe_open

        found = []
        for path in self.files:
            with blame(path, "weights"), safe_open(path, "np") as file:
                for name in file.keys():   # noqa: SIM118 (it is no dictionary)
                    part = file.get_slice(name)
                    found.append((name, (path, part.get_dtype(), tuple(part.get_shape()))))
        return found

    def repeated(self, prefix: str) -> list[str]:
        """Return the tensors that several files hold, or that one holds with and without a prefix: transformers takes
        any of them."""
        counts = Counter(name for name, _ in self._stored)
        return sorted(name for name, count in counts.items() if count > 1 or prefix + name in counts)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The stored types, in safetensors' names."""
        return tuple(sorted({dtype for _, dtype, _ in self.tensors.values()}))


def path_named(model_id: str) -> Path:
    """Return the path that an id denotes. Raises UserError if it is not a valid path."""
    try:
        path = Path(model_id).expanduser()
        path.exists()   # raises for an invalid path
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error, 80)
        raise UserError(f"{quoted(model_id)} is not a valid path ({reason}); choose a model of the catalogue, or give "
                        f"the path of a folder.") from error
    return path


def sha256(path: Path) -> str:
    """Return the file's sha256 in hexadecimal, computed again when the file's size, times or inode change."""
    about = path.stat()
    try:
        return _sha256(path.absolute(), about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
    except PermissionError as error:
        raise UserError(f"This user may not read {path}; change its permissions or copy the model.") from error


@cache
def _sha256(path: Path, *about: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(*folders: Path, more: tuple[str, ...] = ()) -> str:
    """Return 16 hexadecimal digits of a hash over everything in the folders that may change an answer (READ without
    IGNORED) and the strings in `more`. It is the same on all machines and however the files were fetched."""
    parts = []
    for number, folder in enumerate(folders):
        names = [path.name for path in folder.iterdir()] + [
            f"{inside}/{path.name}" for inside in INSIDE if (folder / inside).is_dir()
            for path in (folder / inside).iterdir()]
        parts += [f"{number} {name} {sha256(folder / name)}" for name in sorted(names)
                  if READ.fullmatch(name) and not IGNORED.fullmatch(name) and (folder / name).is_file()]
    return hashlib.sha256("\n".join((*parts, *more)).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def read_json(path: Path) -> dict:
    """Read a JSON object from a model's folder. Raises UserError, naming the file."""
    if not path.exists():
        raise UserError(f"{path.parent} has no {path.name}; give a folder that save_pretrained wrote.")
    with blame(path, "a JSON object"):
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise TypeError(f"it holds a {type(content).__name__}")
        return content


def parsed(path: Path) -> object:
    """Return the file's JSON content, or None if it is invalid, which code that needs the file will report."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return None


def objects(value: object) -> Iterator[dict]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from objects(inner)


def adapters_inside(folder: Path) -> list[Path]:
    """Return the folders of adapters up to three levels below a folder."""
    return sorted(path.parent for pattern in ("*", "*/*", "*/*/*")
                  for path in folder.glob(f"{pattern}/{ADAPTER_CONFIG}"))


def has_adapter(folder: Path) -> bool:
    """Return whether the folder contains a peft adapter."""
    return (folder / ADAPTER_CONFIG).is_file() or (folder / ADAPTER_WEIGHTS).is_file()


def is_adapter_alone(folder: Path) -> bool:
    """Return whether the folder contains an adapter but no base weights."""
    return has_adapter(folder) and not any(path for pattern in ("model*.safetensors*", "pytorch_model*", "*.gguf")
                                           for path in folder.glob(pattern))


def all_weights(folder: Path) -> tuple[Path, ...]:
    """Return the safetensors files of a model, an adapter or both."""
    adapter = folder / ADAPTER_WEIGHTS
    alone = is_adapter_alone(folder)
    return (() if alone else weights_of(folder).files) + ((adapter,) if alone or adapter.is_file() else ())


def licence_of(folder: Path) -> str:
    """Return the licence stated in the front matter of the folder's README.md, as on the hub."""
    readme = folder / "README.md"
    head = readme.read_text(encoding="utf-8", errors="replace")[:4000] if readme.is_file() else ""
    licence = re.search(r"^license:[ \t]*([\w.+-]+)", head, re.MULTILINE) if head.startswith("---") else None
    return licence.group(1) if licence else "not stated"


def weights_of(folder: Path) -> Weights:
    """Return the safetensors weights of a folder, from one file or its index. Raises UserError if there are none or the
    index names files elsewhere."""
    index, names = folder / INDEX, [WEIGHTS]
    with blame(index, "an index of weights"):
        if not (folder / WEIGHTS).is_file() and index.is_file():   # like transformers, prefer a single file to an index
            content = read_json(index)
            dict(content["metadata"])   # transformers fails without it
            names = sorted(map(str, {*content["weight_map"].values()})) or names
        missing = next((name for name in names if Path(name).name != name or not (folder / name).is_file()), None)
    parts = sorted(path.name for path in folder.glob("*.safetensors") if path.name != ADAPTER_WEIGHTS)
    if missing == WEIGHTS and parts:
        raise UserError(f"{folder} has {parts[0]}, but no {INDEX} that lists the parts of its weights; copy it too, or "
                        f"rename the file to {WEIGHTS} if it holds all of them.")
    if missing is not None:
        raise UserError(f"{folder} has no {quoted(missing)}; give a folder with all of a model's weights as "
                        f"safetensors, since pickles are never opened, or a GGUF file.")
    return Weights(tuple(folder / name for name in names))


def _refuse_pointers(file_or_folder: Path) -> None:
    """Raise UserError if a file, or one in a folder, was not downloaded by Git LFS."""
    for path in sorted(file_or_folder.iterdir()) if file_or_folder.is_dir() else [file_or_folder]:
        if path.is_file() and path.suffix in SUFFIXES:
            with path.open("rb") as file:
                if file.read(len(LFS)) == LFS:
                    raise UserError(f"{path} is a Git LFS pointer to a file that was not downloaded; run git lfs pull "
                                    f"in its folder.")


def is_fault(error: BaseException) -> bool:
    """Return whether an error concerns the data read, rather than being a request to exit."""
    return isinstance(error, Exception) or type(error).__name__ == PANIC


def in_one_line(error: BaseException, path: Path | None = None) -> str:
    """Return another package's error message in one line. path: the file that it read; if that is JSON, the keys of the
    value that it looked up in vain, or of the nulls that it stumbled over, are named."""
    levels = objects(parsed(path)) if path is not None and path.suffix == ".json" else ()
    pairs = [pair for level in levels for pair in level.items()]
    for key in (key for key, value in pairs if isinstance(error, KeyError) and error.args == (value,)):
        return f"{quoted(key)} is {quoted(str(error.args[0]))}, which is unknown"
    nulls = [quoted(key) for key, value in pairs if value is None and "NoneType" in str(error)]
    said = f"{error}; null is the value of {' and '.join(nulls)}" if nulls else str(error)
    said = f"there is no {said}" if isinstance(error, KeyError) else said
    return " ".join(said.split())[:LONGEST].rstrip(" .;,:") or type(error).__name__


@contextmanager
def blame(path: Path, expected: str, advice: str = AGAIN) -> Iterator[None]:
    """Convert any error about a file's content to UserError. `expected` completes "cannot be used as …"."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except BaseException as error:
        if not is_fault(error):
            raise
        _refuse_pointers(path)
        undamaged = path.suffix == ".json" and parsed(path) is not None   # so that another copy would be the same
        raise UserError(f"{path} cannot be used as {expected} ({in_one_line(error, path)}); "
                        f"{CORRECT if undamaged and advice == AGAIN else advice}.") from error


def check_weights(weights: Weights, network: "Network", mismatched: Iterable[tuple], advice: str = AGAIN) -> None:
    """Raise UserError, naming the tensor, for weights of the wrong shape or of an integer type.

    mismatched: (tensor, its shape, the shape in config.json), as reported by transformers.
    """
    for name, shape, wanted in mismatched:
        raise UserError(f"{weights.files[0].parent} holds {name} as {tuple(shape)}, where config.json says "
                        f"{tuple(wanted)}; {advice}.")
    for name, (path, dtype, _) in weights.tensors.items():
        if name.endswith(".weight") and not dtype.startswith(DECIMALS) and (
                getattr(network.config, "quantization_config", None) is None):
            raise UserError(f"{path} holds {name} as {dtype}, where floating-point numbers are expected; {advice}.")


def check_unchanged(folder: Path, pinned: str = "") -> None:
    """Raise UserError unless the folder's weights have the checksum `pinned`, if any, or else those stored at
    download."""
    weights = all_weights(folder)
    known = {weights[0].name: pinned} if pinned else origin_of(folder).get("sha256", {})
    if not isinstance(known, dict):
        raise UserError(f"{folder / catalogue.MARK} is damaged because sha256 must list each file's checksum; fetch "
                        f"the model again.")
    for path in weights:
        if path.name in known and sha256(path) != known[path.name]:
            raise UserError(f"{path} has changed (its sha256 differs); install or fetch the model again.")


SHOWN = 12   # digits of a commit shown in a sentence


def origin_of(folder: Path) -> dict:
    """Return what is known of a folder's origin: what was written when it was downloaded or converted, or the hub id
    and commit of a folder in the hub's own cache; empty for other folders."""
    mark = folder / catalogue.MARK
    if mark.is_file():
        return read_json(mark)
    hub_id = folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return {"id": hub_id, "commit": folder.name} if folder.parent.name == "snapshots" else {}
