"""Files of a model before anything is made of them: which they are, how large, whole and unchanged. No weights are read
into memory here."""
import hashlib
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from model.core.limits import LIMITS, parse_json
from model.core.query import UserError, first_line, quoted
from model.pretrained import catalogue

# of the files that transformers reads in a folder; never a pickle
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"   # of peft
LONGEST_NAME = 255   # characters of a file that an index names, as file systems have at most
SUFFIXES = (".json", ".txt", ".model", ".safetensors", ".gguf", ".jinja", ".spm", ".py")
# the weights, or what says in which parts they are
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
LFS = b"version https://git-lfs"   # how a file begins that stands for a large one
BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
        "I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64}

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
    """What the headers of a model's weights say."""

    files: tuple[Path, ...]
    parameters: int           # count
    dtypes: tuple[str, ...]   # as safetensors names them


def path_named(model_id: str) -> Path:
    """The path that an id is, if it is one. Raises UserError for what no system takes as a path."""
    try:
        path = Path(model_id).expanduser()
        path.exists()   # asked for the errors that it raises
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error, 80)
        raise UserError(f"{quoted(model_id)} can be no path ({reason}); choose a model of the catalogue, or give the "
                        f"path of a folder.") from error
    return path


def sha256(path: Path) -> str:
    """The file's sha256 in hexadecimal, read once per process and state of the file (size and time of change)."""
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
    """A JSON object from a model's folder. Raises UserError with the file's name."""
    try:
        LIMITS.refuse_above("json_bytes", path.stat().st_size, str(path), "choose another model")
        content = parse_json(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise UserError(f"{path.parent} has no {path.name}; give a folder that save_pretrained wrote.") from None
    except OSError as error:
        way = "change its permissions" if isinstance(error, PermissionError) else "copy or download it again"
        raise UserError(f"{path} cannot be read ({error.strerror}); {way}.") from error
    except ValueError as error:
        raise UserError(f"{path} is damaged, as it holds no JSON ({type(error).__name__}); copy or download it "
                        f"again.") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} should hold a JSON object but holds a {type(content).__name__}; copy or download it "
                        f"again.")
    return content


def weights_of(folder: Path) -> Weights:
    """The safetensors weights of a folder, each file checked against its own header. Raises UserError with the file's
    name."""
    return weights_in(_weight_files(folder))


def weights_in(files: tuple[Path, ...]) -> Weights:
    """What the headers of these safetensors files say. Raises UserError with the name of one that is damaged."""
    tensors = [tensor for path in files for tensor in _header(path)]
    return Weights(files, sum(count for count, _ in tensors), tuple(sorted({dtype for _, dtype in tensors})))


def has_adapter(folder: Path) -> bool:
    """Whether an adapter of peft lies in the folder."""
    return (folder / ADAPTER_CONFIG).is_file() or (folder / ADAPTER_WEIGHTS).is_file()


def is_adapter_alone(folder: Path) -> bool:
    """Whether the folder holds an adapter and no weights of its base."""
    return has_adapter(folder) and not any(path for pattern in ("model*.safetensors*", "pytorch_model*", "*.gguf")
                                           for path in folder.glob(pattern))


def all_weights(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of a model, of an adapter, or of both. Raises UserError with the name of one that is
    damaged."""
    adapter = folder / ADAPTER_WEIGHTS
    alone = is_adapter_alone(folder)
    files = (() if alone else _weight_files(folder)) + ((adapter,) if alone or adapter.is_file() else ())
    return weights_in(files).files


def licence_of(folder: Path) -> str:
    """The licence that the folder's README.md states in its front matter, as hub models have it."""
    readme = folder / "README.md"
    head = ""
    if readme.is_file():
        with readme.open(encoding="utf-8", errors="replace") as file:
            head = file.read(4000)
    licence = re.search(r"^license:[ \t]*([\w.+-]+)", head, re.MULTILINE) if head.startswith("---") else None
    return licence.group(1) if licence else "not stated"


def _weight_files(folder: Path) -> tuple[Path, ...]:
    index = folder / INDEX
    single = (folder / WEIGHTS).is_file()   # which transformers reads before what an index names
    if index.is_file():
        weight_map = read_json(index).get("weight_map", {})
        if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
            raise UserError(f"{index} is no index: weight_map should name the file of each tensor; copy or download it "
                            f"again.")
        names = sorted(set(weight_map.values()))
        outside = [name[:80] for name in names
                   if not name or not name.isprintable() or Path(name).name != name or len(name) > LONGEST_NAME]
        if outside or not names:
            raise UserError(f"{index} names {outside[:1] or 'no file'}; weights must lie beside it, so this model is "
                            f"refused.")
        return (folder / WEIGHTS,) if single else tuple(folder / name for name in names)
    if single:
        return (folder / WEIGHTS,)
    raise UserError(f"{folder} has no {WEIGHTS}; give a folder with a model's weights in that format.")


def _header(path: Path) -> list[tuple[int, str]]:
    """(number of values, dtype) of each tensor in a safetensors file: 8 bytes of length, that many of JSON, then the
    data."""
    damaged = UserError(f"{path} is cut off or damaged; copy or download it again.")
    if not path.is_file():
        raise UserError(f"{path} is missing; copy or download the model again.")
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if start == LFS[:8] and file.read(len(LFS) - 8) == LFS[8:]:
            raise UserError(f"{path} is a pointer of Git LFS to the weights, which were not fetched; run git lfs pull "
                            f"in its folder.")
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length > size - 8:
            raise damaged
        LIMITS.refuse_above("header_bytes", length, str(path), "choose another model")
        try:
            entries = parse_json(file.read(length), str(path))
            LIMITS.refuse_above("tensors", len(entries), str(path), "choose another model")
            tensors = [entry for name, entry in entries.items() if name != "__metadata__"]
            ends = [int(entry["data_offsets"][1]) for entry in tensors]
            sizes = [int(entry["data_offsets"][1]) - int(entry["data_offsets"][0]) for entry in tensors]
            counts = [(8 * size_ // BITS.get(entry["dtype"], 8), str(entry["dtype"]))
                      for size_, entry in zip(sizes, tensors, strict=True)]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError):
            raise damaged from None
    if min(sizes, default=0) < 0 or 8 + length + max(ends, default=0) != size:
        raise damaged
    return counts
