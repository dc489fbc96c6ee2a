"""Answers that take minutes to compute, measured in advance and shipped in assets/results. Each question has one JSON
file of numbers and words, and an atlas also a folder of Parquet tables. `python -m tools.shipped` recomputes them.

Each file states the date, machine and command of the measurement, and the model's fingerprint. If the local model
differs, the answer is stale.
"""
import dataclasses
import functools
import hashlib
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_type_hints

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.files import write as write_file
from clearhead.model.core.limits import parse_json
from clearhead.model.core.query import UserError, frozen
from clearhead.model.core.record_file import Reader, plain

if TYPE_CHECKING:
    from clearhead.model.studies.atlas.summary import Atlas

RESULTS = ASSETS / "results"
ATLAS = "Atlas"   # recognised by name, because its module is slow to import; its tables are separate files
ASKED = "the question"   # placeholder for the question itself
COMMAND = "python -m tools.shipped"


@frozen
class Shipped:
    """An answer that was measured in advance."""

    answer: Any
    measured: str   # date in ISO 8601
    machine: str    # description
    seconds: float  # duration of the measurement
    stale: bool     # whether the local model differs from the one measured


def path_of(question: Any) -> Path:
    """Return the path of a question's answer, which does not depend on the fingerprint of its model, if it has one."""
    asked, parts = question, [type(question).__name__]
    if hasattr(question, "revision"):
        asked, parts = dataclasses.replace(question, revision=""), [*parts, question.model.replace("/", "-")[:40]]
    digest = hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return RESULTS / f"{'-'.join([*parts, digest])}.json"


def find(question: Any) -> Shipped | None:
    """Return the shipped answer to a question, or None."""
    return _read(path_of(question), type(question).answer, question) if dataclasses.is_dataclass(question) else None


@functools.lru_cache(64)
def _read(path: Path, answered: Any, question: Any) -> Shipped | None:
    """Read a shipped answer. answered: the question's `answer` method, whose return type defines the format."""
    if not path.is_file():
        return None
    try:
        told = parse_json(path.read_bytes(), path.name)
        kind = get_type_hints(answered)["return"]
        atlas = kind.__name__ == ATLAS
        answer = _open_atlas(path.with_suffix("")) if atlas else decode(kind, told["answer"], question)
        stale = told["revision"] != getattr(question, "revision", None)
        return Shipped(answer, told["measured"], told["machine"], told["seconds"], stale)
    # written by another version, so it is measured here instead
    except (OSError, UserError, ValueError, KeyError, TypeError):
        return None


def _open_atlas(folder: Path) -> "Atlas":
    from clearhead.model.studies.atlas.files import open_atlas

    return open_atlas(folder)


def save(question: Any, answer: object, seconds: float, day: str, machine: str) -> Path:
    """Write an answer to the file that `find` reads."""
    from clearhead.model.studies.atlas.files import write_atlas
    from clearhead.model.studies.atlas.summary import Atlas

    place = path_of(question)
    place.parent.mkdir(exist_ok=True)
    if isinstance(answer, Atlas):
        place.with_suffix("").mkdir(exist_ok=True)
        write_atlas(place.with_suffix(""), answer, {"command": COMMAND})
        answer = None
    told = {"question": type(question).__name__, "model": getattr(question, "model", None),
            "revision": getattr(question, "revision", None), "measured": day, "machine": machine, "command": COMMAND,
            "seconds": round(seconds, 1), "answer": encode(answer, question)}
    write_file(place, (json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8"))
    return place


def encode(value: object, question: object = None) -> object:
    """Convert an answer to JSON. Arrays become bytes in base 64, and the question in its field `query` ASKED."""
    told = plain(value, lambda array: {"dtype": array.dtype.str, "shape": list(array.shape),
                                       "bytes": b64encode(array.tobytes()).decode()})
    asked = question is not None and getattr(value, "query", None) == question
    return told | {"query": ASKED} if asked and isinstance(told, dict) else told


def decode(kind: Any, given: object, question: object = None) -> Any:
    """Convert `encode`'s output back to a value of this type. Raises ValueError, KeyError or TypeError for anything
    else."""
    return Reader(_array, (ASKED, question)).made(kind, given)


class Packed(TypedDict):
    """An array in JSON."""

    dtype: str
    shape: list[int]
    bytes: str   # in base 64


def _array(given: Packed, _type: str) -> np.ndarray:
    dtype = np.dtype(given["dtype"])
    if dtype.kind not in "fiubU":
        raise ValueError(f"{dtype} is neither a numeric nor a string type")
    return np.frombuffer(b64decode(given["bytes"]), dtype).reshape(given["shape"])
