"""The files of a model's folder: which they are, whether they are whole and unchanged, and what is wrong with one in a
sentence that names it.

transformers and the packages below it say what they stumbled over, not which file put it there; the tokenizers, written
in Rust, end in a panic that is no Exception. So whatever they raise about a folder passes through `blame`.
"""
import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.core.files import make_folder, write
from model.core.query import UserError, first_line, quoted
from model.pretrained import catalogue
from model.pretrained.catalogue import check_id

if TYPE_CHECKING:
    from model.pretrained import Network

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"   # of peft
# of the files that transformers reads in a folder; never a pickle
SUFFIXES = (".json", ".txt", ".model", ".safetensors", ".gguf", ".jinja", ".spm", ".py")
# the weights, or what says in which parts they are
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
LFS = b"version https://git-lfs"   # how a file begins that stands for a large one
PANIC = "PanicException"   # of what is written in Rust; its class can be imported from nowhere
LONGEST = 200              # characters of what another package says
DECIMALS = ("F", "BF")     # how safetensors begins the names of types with decimals
IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")

# by path: (size, time of change), sha256
_hashes: dict[str, tuple[tuple[int, int], str]] = {}


@dataclass(frozen=True)
class ModelFiles:
    """Where a model's files are."""

    id: str                                # as it was asked for
    folder: Path                           # with config.json, weights and tokenizer
    title: str                             # its name on the pages
    licence: str = "not stated"            # as the catalogue or the folder states it
    entry: catalogue.Entry | None = None   # its line in the catalogue, if it has one
    changed: str = ""                      # how it differs from what was first opened here, a sentence
    adapter: Path | None = None            # the folder of the LoRA adapter that is merged into the weights
    unapplied: tuple[str, ...] = ()        # clauses on what in the folder changes the model but is not applied

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folder of the model and, where it has one of its own, that of its adapter."""
        return (self.folder,) if self.adapter in (None, self.folder) else (self.folder, self.adapter)


@dataclass(frozen=True)
class Weights:
    """The safetensors files of a model; their headers are read once, when they are first asked for."""

    files: tuple[Path, ...]

    @cached_property
    def tensors(self) -> dict[str, tuple[Path, str, tuple[int, ...]]]:
        """(file, type as safetensors names it, shape) of each tensor. Raises UserError with the name of a file that is
        damaged."""
        from safetensors import safe_open

        found = {}
        for path in self.files:
            _refuse_pointer(path)
            with blame(path, "weights"), safe_open(path, "np") as file:
                for name in file.keys():   # noqa: SIM118 (it is no dictionary)
                    part = file.get_slice(name)
                    found[name] = path, part.get_dtype(), tuple(part.get_shape())
        return found

    @property
    def parameters(self) -> int:
        """How many numbers they hold."""
        return sum(math.prod(shape) for _, _, shape in self.tensors.values())

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The types that they are stored as."""
        return tuple(sorted({dtype for _, dtype, _ in self.tensors.values()}))

    def key_of(self, name: str) -> str:
        """Return the name under which a parameter is stored: as it is, or without or with its base model's name before
        it."""
        ends = (name, name.partition(".")[2])
        return next((key for key in ends if key in self.tensors), "") or next(
            (key for key in self.tensors if key.endswith(f".{name}")), name)

    def file_of(self, name: str) -> Path:
        """Return the file that holds a parameter."""
        key = self.key_of(name)
        return self.tensors[key][0] if key in self.tensors else self.files[0]


def path_named(model_id: str) -> Path:
    """Return the path that an id is, if it is one. Raises UserError for what no system takes as a path."""
    try:
        path = Path(model_id).expanduser()
        path.exists()   # asked for the errors that it raises
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error, 80)
        raise UserError(f"{quoted(model_id)} can be no path ({reason}); choose a model of the catalogue, or give the "
                        f"path of a folder.") from error
    return path


def sha256(path: Path) -> str:
    """Return the file's sha256 in hexadecimal, read once per process and state of the file (size and time of
    change)."""
    state = (path.stat().st_size, path.stat().st_mtime_ns)
    known = _hashes.get(str(path))
    if known and known[0] == state:
        return known[1]
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError as error:
        raise UserError(f"{path} may not be read by this user; change its permissions or copy the model.") from error
    _hashes[str(path)] = (state, digest)
    return digest


def fingerprint(*folders: Path, more: tuple[str, ...] = ()) -> str:
    """16 hexadecimal digits that change with any byte of the folders' weights, configurations or tokenizers, and with
    what more is said."""
    parts = [path for folder in folders for path in sorted(folder.iterdir())
             if path.suffix in SUFFIXES and path.is_file()]
    text = "\n".join((*(f"{path.name} {sha256(path)}" for path in parts), *more))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def read_json(path: Path) -> dict:
    """Return a JSON object from a model's folder. Raises UserError with the file's name."""
    if not path.exists():
        raise UserError(f"{path.parent} has no {path.name}; give a folder that save_pretrained wrote.")
    with blame(path, "a JSON object"):
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise TypeError(f"it holds a {type(content).__name__}")
        return content


def parsed(path: Path) -> Any:
    """Return the file's content; nothing where it is no JSON, which whoever needs the file says."""
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
    """Return the folders of adapters one or two levels below a folder."""
    return sorted(path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/{ADAPTER_CONFIG}"))


def has_adapter(folder: Path) -> bool:
    """Return whether an adapter of peft lies in the folder."""
    return (folder / ADAPTER_CONFIG).is_file() or (folder / ADAPTER_WEIGHTS).is_file()


def is_adapter_alone(folder: Path) -> bool:
    """Return whether the folder holds an adapter and no weights of its base."""
    return has_adapter(folder) and not any(path for pattern in ("model*.safetensors*", "pytorch_model*", "*.gguf")
                                           for path in folder.glob(pattern))


def all_weights(folder: Path) -> tuple[Path, ...]:
    """Return the safetensors files of a model, of an adapter, or of both."""
    adapter = folder / ADAPTER_WEIGHTS
    alone = is_adapter_alone(folder)
    return (() if alone else weights_of(folder).files) + ((adapter,) if alone or adapter.is_file() else ())


def licence_of(folder: Path) -> str:
    """Return the licence that the folder's README.md states in its front matter, as hub models have it."""
    readme = folder / "README.md"
    head = readme.read_text(encoding="utf-8", errors="replace")[:4000] if readme.is_file() else ""
    licence = re.search(r"^license:[ \t]*([\w.+-]+)", head, re.MULTILINE) if head.startswith("---") else None
    return licence.group(1) if licence else "not stated"


def weights_of(folder: Path) -> Weights:
    """Return the safetensors weights of a folder, in one file or as its index names them. Raises UserError if there are
    none, and for an index that names anything but files beside it."""
    index = folder / INDEX
    names = [WEIGHTS]
    if not (folder / WEIGHTS).is_file() and index.is_file():   # transformers, too, reads one file before an index
        named = read_json(index).get("weight_map", {})
        names = sorted(set(map(str, named.values()))) if isinstance(named, dict) else []
        if not names or any(not name.isprintable() or Path(name).name != name for name in names):
            raise UserError(f"{index} cannot be used as an index, as weight_map should name the file of each tensor, "
                            f"beside it; copy or download it again.")
    paths = tuple(folder / name for name in names)
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None:
        raise UserError(f"{folder} has no {missing.name[:100]}; give a folder with all of a model's weights as "
                        f"safetensors.")
    return Weights(paths)


def _refuse_pointer(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(LFS)) == LFS:
            raise UserError(f"{path} is a pointer of Git LFS to the weights, which were not fetched; run git lfs pull "
                            f"in its folder.")


def is_fault(error: BaseException) -> bool:
    """Return whether an error is of what was read, and not of somebody who ends the program."""
    return isinstance(error, Exception) or type(error).__name__ == PANIC


def in_one_line(error: BaseException) -> str:
    """Return what another package says."""
    return " ".join(str(error).split())[:LONGEST].rstrip(" .;,:") or type(error).__name__


@contextmanager
def blame(path: Path, expected: str) -> Iterator[None]:
    """Make a UserError of whatever is raised about what a file holds. `expected` follows "as"."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except BaseException as error:
        if not is_fault(error):
            raise
        raise UserError(f"{path} cannot be used as {expected} ({in_one_line(error)}); copy or download it again, or "
                        f"choose another model.") from error


def check_weights(place: ModelFiles, weights: Weights, network: "Network",
                  mismatched: Iterable[tuple]) -> None:
    """Raise UserError, with file and tensor, for weights of another shape, or without decimals.

    mismatched: (tensor, its shape, the shape that config.json wants) of each, as transformers reports them.
    """
    for name, shape, wanted in mismatched:
        raise UserError(f"{weights.file_of(name)} holds {name} as {tuple(shape)}, where config.json says "
                        f"{tuple(wanted)}; copy or download both again.")
    if getattr(network.config, "quantization_config", None) is None:
        for name, _ in network.named_parameters():
            path, dtype, _ = weights.tensors.get(weights.key_of(name), (None, "F32", ()))
            if not dtype.startswith(DECIMALS):
                raise UserError(f"{path} holds {name} as {dtype}, where numbers with decimals are expected; copy or "
                                f"download it again.")
    check_numbers(place.title, network, weights.file_of)


def check_numbers(title: str, network: "Network", file_of: Callable[[str], Path]) -> None:
    """Raise UserError for NaN or infinity in any weight; file_of(name) is the file that holds it."""
    import torch

    for name, parameter in network.named_parameters():
        if parameter.numel() and not all(torch.isfinite(end) for end in torch.aminmax(parameter)):
            raise UserError(f"{title} is not opened, as {file_of(name)} holds NaN or infinity in {name}; copy or "
                            f"download it again, or choose another model.")


def check_generation(folder: Path, network: "Network") -> None:
    """Raise UserError for a generation_config.json whose special tokens have no numbers."""
    path = folder / "generation_config.json"
    if path.exists():
        read_json(path)
    for name in IDS:
        ids = getattr(getattr(network, "generation_config", None), name, None)
        if not all(isinstance(number, int) for number in (ids if isinstance(ids, list) else [ids or 0])):
            raise UserError(f"{path} gives {ids!r} as {name}, where a token's number is expected; copy or download it "
                            f"again.")


# Trust on first use: nobody signs what a hub sends, and its names follow their newest commit. So the commit and the
# sha256 of each file of weights are written down when a model is first opened here, and a later opening that differs is
# said on the page. Whoever can write to CLEARHEAD_HOME is trusted.
CACHED = re.compile(r"models--(.+)")   # a model's folder in the hub's own cache; /snapshots/COMMIT is below it
SHOWN = 12   # digits of a commit and of a checksum in a sentence


def remember(place: ModelFiles) -> str:
    """Write down the version of a hub model and of its adapter that is opened for the first time. A sentence if this is
    another one; else nothing."""
    return " ".join(filter(None, map(_remember, place.folders)))


def _remember(folder: Path) -> str:
    origin = origin_of(folder)
    if origin is None:
        return ""
    hub_id, commit = origin
    now = {"commit": commit, "weights": {path.name: sha256(path) for path in all_weights(folder)},
           "opened": time.strftime("%Y-%m-%d")}
    file = record_of(hub_id)
    unknown = f"Whether {hub_id} is what was first opened here is not known"
    try:
        if not file.is_file():
            make_folder(file.parent)
            write(file, json.dumps({"id": hub_id, "versions": [now]}, indent=1).encode("utf-8"))
        first = json.loads(file.read_bytes())["versions"][0]
        other = [name for name in ("commit", "weights") if first[name] != now[name]]
        then, day = str(first["commit"])[:SHOWN], first["opened"]
    except UserError as error:
        return f"{unknown}: {error}"
    except (OSError, ValueError, LookupError, TypeError):
        return f"{unknown}: {file} cannot be read; delete it to begin anew."
    return "" if not other else (
        f"{hub_id} is not what was first opened here, on {day}: it has another {' and other '.join(other)} (commit "
        f"{commit[:SHOWN]}, then {then}); what was made with the one may look otherwise with the other.")


def origin_of(folder: Path) -> tuple[str, str] | None:
    """Return (hub id, commit) of a model's folder, fetched by us or in the hub's own cache; None if it is not of a
    hub."""
    if folder.parent.name == "snapshots" and (cached := CACHED.fullmatch(folder.parent.parent.name)):
        return cached[1].replace("--", "/"), folder.name
    mark = folder / catalogue.MARK
    origin = read_json(mark) if mark.is_file() else {}
    hub_id, commit = str(origin.get("id", "")), str(origin.get("commit", ""))
    with suppress(UserError):   # a file that somebody wrote, and what it says becomes the name of a file
        return (check_id(hub_id), commit) if commit else None
    return None


def record_of(hub_id: str) -> Path:
    """Return the file with a model's versions. Whoever trusts another one from now on deletes it."""
    return catalogue.home() / "first-opened" / f"{catalogue.folder_name(hub_id)}.json"
