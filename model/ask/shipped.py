"""Answers that take minutes to compute, measured in advance and shipped in assets/results. Each question has one JSON
file of numbers and words, and an atlas also a folder of Parquet tables. `python -m tools.shipped` recomputes them.

Each file states the date, machine and command of the measurement, and the model's fingerprint. If the local model
differs, the answer is stale.
"""
import dataclasses
import functools
import hashlib
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.limits import parse_json
from clearhead.model.core.query import UserError, frozen
from clearhead.model.core.record_file import Reader

if TYPE_CHECKING:
    from clearhead.model.studies.atlas.summary import Atlas

RESULTS = ASSETS / "results"
ATLAS = "Atlas"   # recognised by name, because its module is slow to import; its tables are separate files
COMMAND = "python -m tools.shipped"
ASKED = "the question"   # placeholder for the question itself


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
    if not hasattr(question, "__dataclass_fields__"):
        return None
    return _read(path_of(question), type(question).answer, question)


@functools.lru_cache(64)
def _read(path: Path, answered: Callable[..., object], question: Any) -> Shipped | None:
    """Read a shipped answer. answered: the question's `answer` method, whose return type defines the format."""
    if not path.is_file():
        return None
    try:
        told = parse_json(path.read_bytes(), path.name)
        kind = get_type_hints(answered)["return"]
        atlas = kind.__name__ == ATLAS
        reader = Reader(_array, (ASKED, question))
        answer = _open_atlas(path.with_suffix("")) if atlas else reader.made(kind, told["answer"])
        stale = told["revision"] != getattr(question, "revision", None)
        return Shipped(answer, told["measured"], told["machine"], told["seconds"], stale)
    # written by another version, so it is measured here instead
    except (OSError, UserError, ValueError, KeyError, TypeError):
        return None


def _open_atlas(folder: Path) -> "Atlas":
    from clearhead.model.studies.atlas.files import open_atlas

    return open_atlas(folder)


def _array(given: dict, _type: str) -> np.ndarray:
    """Return an array that is stored as its type, its shape and its bytes in base 64."""
    dtype = np.dtype(given["dtype"])
    if dtype.kind not in "fiubU":
        raise ValueError(f"{dtype} is neither a numeric nor a string type")
    return np.frombuffer(b64decode(given["bytes"]), dtype).reshape(given["shape"])
