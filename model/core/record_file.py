"""Save a record as one safetensors file that contains everything needed to draw it again: queries, keys, values, masks,
biases, tokens, the card, the verification, the question with its edits, and the answer. `model.imported.record_file`
reads it.

Arrays are the file's tensors; everything else is JSON in its metadata under "clearhead", where {"array": name} refers
to an array. The record's types import this module, so it cannot name them. Values are written as a type name and
fields, and masks and biases are read the same way, so new types need no code here.
"""
import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from clearhead.model.core import files
from clearhead.model.core.attention import Mask
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError, frozen

if TYPE_CHECKING:
    from clearhead.model.core.record import AttentionRecord

Made = TypeVar("Made")

SUFFIX = ".safetensors"
FORMAT = "Clearhead record 2"
TOO_LARGE = 1e30   # bound of any number, far above any model's and far below the limit of float32
LARGEST = 2**53    # bound of any integer
DIGEST = 32        # bytes of the sha256 that begins a file of our own
# the record's parts besides the query
FIELDS = ("maps", "card", "verification", "prediction", "omitted", "notes", "picture", "written")


class _Arrays:
    """The arrays of a record by name; shared arrays are stored once."""

    def __init__(self) -> None:
        self.by_name: dict[str, np.ndarray] = {}
        self._names: dict[tuple, str] = {}

    def add(self, array: np.ndarray) -> dict[str, str]:
        """Store an array and return the JSON that refers to it."""
        identity = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        name = self._names.setdefault(identity, str(len(self._names)))
        self.by_name.setdefault(name, np.ascontiguousarray(array))
        return {"array": name}


def save(record: "AttentionRecord", path: str | Path) -> Path:
    """Write the record and return the path. Raises UserError for a name without the file extension, for a record too
    large to be opened again, or if the file cannot be written."""
    place = Path(path)
    if place.suffix.lower() != SUFFIX:
        raise UserError(f"{place.name} does not end in {SUFFIX}, the format of records; choose such a name.")
    content = encode(record)
    LIMITS.refuse_above("file_bytes", len(content), f"The record for {place.name}", "look at fewer tokens or layers")
    files.write(place, content)
    return place


def encode(record: "AttentionRecord") -> bytes:
    """Return the file's content."""
    arrays = _Arrays()
    return _packed({"format": FORMAT, "query": plain(record.asked, arrays.add)} | {
        name: plain(getattr(record, name), arrays.add) for name in FIELDS}, arrays)


def _packed(about: dict[str, object], arrays: _Arrays) -> bytes:
    import safetensors.numpy

    text = json.dumps(about, ensure_ascii=True, allow_nan=False)
    return safetensors.numpy.save(arrays.by_name, {"clearhead": text})


def pack(value: object, about: object) -> bytes:
    """Return the content of a file with any dataclass of values and arrays, for `unpack`. about: JSON."""
    arrays = _Arrays()
    content = _packed({"about": about, "value": plain(value, arrays.add)}, arrays)
    return hashlib.sha256(content).digest() + content


def unpack(content: bytes, kind: type[Made], about: object) -> Made | None:
    """Return the value of this type in a file of our own, or None if it was packed with another `about`. Raises
    ValueError for a damaged file."""
    import safetensors.numpy

    try:
        digest, content = content[:DIGEST], content[DIGEST:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("its sha256 differs")
        length = int.from_bytes(content[:8], "little")
        said = json.loads(json.loads(content[8:8 + length])["__metadata__"]["clearhead"])
        arrays = safetensors.numpy.load(content)
        reader = Reader(lambda given, of: arrays[given["array"]], largest=2**64)
        return reader.made(kind, said["value"]) if said["about"] == about else None
    except Exception as error:   # safetensors' own, and any that a value of a wrong type causes
        raise ValueError("The file is damaged.") from error


def plain(value: object, array: Callable[[np.ndarray], object] | None = None) -> object:
    """Convert to JSON types: dataclasses to objects, arrays to lists, tables to lists of rows. NaN, which means "not
    measured", becomes null.

    With `array`, which converts arrays, a `Reader` can read the result: objects name their type, and dictionaries
    become lists of pairs.
    """
    if dataclasses.is_dataclass(value):
        named = {"type": type(value).__name__} if array else {}
        return named | {field.name: plain(getattr(value, field.name), array) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray) and array:
        return array(value)
    if hasattr(value, "to_dict"):
        value = value.to_dict("records")
    elif isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict) and not array:
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, dict | tuple | list):
        return [plain(each, array) for each in (value.items() if isinstance(value, dict) else value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@frozen
class Reader:
    """Build typed values from JSON: an object with "type" and fields for one of several types, whatever `array` accepts
    for arrays, lists of pairs for dictionaries, null for NaN. Any value of a wrong type raises an error.
    """

    array: Callable[[Any, str], np.ndarray]   # array(given, type) returns an array of a type of safetensors
    known: tuple[str, object] = ("", None)    # JSON that represents a value, and that value
    largest: int = LARGEST                    # bound of any integer

    def made(self, kind: Any, given: Any, of: str = "F32") -> Any:
        """Return a value of this type; `of` is the type of its arrays."""
        parts, origin = get_args(kind), get_origin(kind)
        if given == self.known[0] and type(self.known[1]) is kind:
            return self.known[1]
        if origin in (UnionType, Union):
            if given is None and type(None) in parts:
                return None
            options = [part for part in parts if part is not type(None)]
            name = given.get("type", "") if isinstance(given, dict) else type(given).__name__
            named = [part for part in options if getattr(part, "__name__", "") == name]
            if len(options) > 1 and not named and is_dataclass(options[0]):
                raise ValueError(f"there is no type {str(name)[:40]!r}")
            return self.made((named or options)[0], given, "BOOL" if kind == Mask else of)
        if origin is tuple:
            kinds = parts[:1] * len(given) if parts[-1] is Ellipsis else parts
            return tuple(self.made(part, value, of) for part, value in zip(kinds, typed(given, list), strict=True))
        if origin in (dict, frozenset):
            pair = parts[0] if len(parts) == 1 else tuple[parts]   # type: ignore[valid-type]
            return origin([self.made(pair, each) for each in given])
        if np.ndarray in (kind, origin):
            return self.array(given, of)
        if is_dataclass(kind):
            fields: Any = kind
            return fields(**{name: self.made(part, given[name], of) for name, part in get_type_hints(fields).items()
                             if name in given})
        if hasattr(kind, "_fields"):
            return kind(*map(self.made, get_type_hints(kind).values(), typed(given, list)))
        if kind is float:
            if given is not None and (type(given) not in (int, float) or not abs(given) < TOO_LARGE):
                raise ValueError(f"expected a number, got {str(given)[:40]}")
            return math.nan if given is None else float(given)
        if kind is int and abs(typed(given, int)) > self.largest:
            raise ValueError(f"{str(given)[:40]} is not a valid number")
        if kind is str:
            given.encode("utf-8")   # rejects lone surrogates
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind(given)
        return typed(given, kind)


def typed(value: object, kind: type[Made]) -> Made:
    """Return the value. Raises ValueError unless it has exactly this type."""
    if not isinstance(value, kind) or type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, got {str(value)[:40]!r}")
    return value
