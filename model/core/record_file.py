"""Save a record as one safetensors file that contains everything needed to draw it again: queries, keys, values, masks,
biases, tokens, the card and the verification. `model.imported.record_file` reads it.

Arrays are the file's tensors; everything else is JSON in its metadata under "clearhead", where {"array": name} refers
to an array. The record's types import this module, so it cannot name them. Values are written as a type name and
fields, and masks and biases are read the same way, so new types need no code here.
"""
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from model.core import files
from model.core.limits import LIMITS
from model.core.query import UserError

SUFFIX = ".safetensors"
FORMAT = "Clearhead record 1"
FIELDS = ("card", "verification", "omitted", "notes", "picture")   # the record's parts besides query and maps


class _Arrays:
    """The arrays of a record by name; shared arrays are stored once."""

    def __init__(self) -> None:
        self.by_name: dict[str, np.ndarray] = {}
        self._names: dict[tuple, str] = {}

    def add(self, name: str, array: np.ndarray) -> dict[str, str]:
        """Store an array and return the JSON that refers to it."""
        identity = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        known = self._names.setdefault(identity, name)
        if known == name:
            self.by_name[name] = np.ascontiguousarray(array)
        return {"array": known}


def save(record: Any, path: str | Path) -> Path:
    """Write the record and return the path. Raises UserError for a name without the file extension, for a record too
    large to be opened again, or if the file cannot be written."""
    place = Path(path)
    if place.suffix.lower() != SUFFIX:
        raise UserError(f"{place.name} has no file extension that says its format; end the name in {SUFFIX}.")
    content = encode(record)
    LIMITS.refuse_above("file_bytes", len(content), f"The record for {place.name}", "look at fewer tokens or layers")
    files.write(place, content)
    return place


def encode(record: Any, **more: Any) -> bytes:
    """Return the file's content. `more`: other parts of the record, by name."""
    import safetensors.numpy

    arrays = _Arrays()
    about = {"format": FORMAT, "query": query_of(record.query), "maps": [
        {"kind": str(part.kind), "queries": _plain(part.queries), "keys": _plain(part.keys),
         "layers": [_typed(layer, f"{part.kind}.{layer.index}", arrays) for layer in part.layers]}
        for part in record.maps]}
    about |= {name: _value(value, name, arrays)
              for name, value in ({name: getattr(record, name) for name in FIELDS} | more).items()}
    text = json.dumps(about, ensure_ascii=True, allow_nan=False)
    return safetensors.numpy.save(arrays.by_name, {"clearhead": text})


def query_of(query: Any) -> dict[str, Any]:
    """Return the query's texts and a description of its edits, since a file cannot be queried again."""
    names = ("model", "revision", "text", "text_b", "target", "image", "chat")
    edits = sorted(repr(edit)[:300] for edit in query.edits)
    return {name: getattr(query, name, None) for name in names} | {"edits": edits}


def _typed(value: Any, name: str, arrays: _Arrays) -> dict[str, Any]:
    """Return a dataclass as its type's name and its fields."""
    fields = {field.name: _value(getattr(value, field.name), f"{name}.{field.name}", arrays)
              for field in dataclasses.fields(value)}
    return {"type": type(value).__name__, **fields}


def _value(value: Any, name: str, arrays: _Arrays) -> Any:
    if isinstance(value, np.ndarray):
        return arrays.add(name, value)
    if dataclasses.is_dataclass(value):
        return _typed(value, name, arrays)
    return _plain(value)


def _plain(value: Any) -> Any:
    """Convert to JSON types; NaN, which means "not measured", becomes null."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
