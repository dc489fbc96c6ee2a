"""Cache records on disk by the hash of their query, to draw a known text without loading the model.

Each file consists of the sha256 of the rest and a record file (model/core/record_file.py), which contains numbers and
JSON but nothing executable. Files that are damaged, of another version or for another query are ignored. Records are
stored in CLEARHEAD_HOME, up to LIMITS.kept_bytes, and the least recently used are evicted first. The record of the
first page's sentence is shipped. CLEARHEAD_RECORDS=0 disables reading and writing.
"""
import hashlib
import importlib.metadata
import json
import logging
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from clearhead.model.core import record_file
from clearhead.model.core.files import ASSETS
from clearhead.model.core.files import write as write_file
from clearhead.model.core.limits import LIMITS, home, keeps
from clearhead.model.core.query import IN_MEMORY, Query, UserError
from clearhead.model.core.record import AttentionRecord, Layer, Prediction
from clearhead.model.imported.record_file import read_kept
from clearhead.model.imported.source import PREFIX

VERSION = 1     # to be increased when the computation of records changes
SHIPPED = ASSETS / "records"
SUFFIX = ".record"
DIGEST = 64     # hexadecimal digits
SHARE = 16      # a single record may use at most 1/SHARE of the limit
SAME = 1e-4     # as a fraction of an array's largest number; another summation order changes less
log = logging.getLogger("clearhead")


def folder() -> Path:
    """Return the folder of this machine's records."""
    return home() / "records"


def can_keep(query: Query) -> bool:
    """Return whether a query's record can be cached: only plain texts read by a model, without edits."""
    return not (query.edits or query.continuation or query.image or query.model.startswith((PREFIX, IN_MEMORY)))


def name_of(query: Query) -> str:
    """Return the file's name, which also depends on the version of transformers, since model code may differ."""
    parts = (VERSION, record_file.FORMAT, importlib.metadata.version("transformers"), query.model, query.revision,
             query.text, query.text_b, query.target, query.chat)
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32] + SUFFIX


def read(query: Query) -> AttentionRecord | None:
    """Return the cached record of a query, with the verification status "kept", or None if there is no valid record."""
    if not (keeps() and can_keep(query)):
        return None
    for place in (folder() / name_of(query), SHIPPED / name_of(query)):
        with suppress(OSError, UserError, ValueError, RecursionError):
            if place.stat().st_size > LIMITS.kept_bytes:
                continue
            content = place.read_bytes()
            if hashlib.sha256(content[DIGEST:]).hexdigest().encode("ascii") != content[:DIGEST]:
                continue
            record = read_kept(content[DIGEST:], query)
            with suppress(OSError):   # the file is shipped, or another user owns it
                os.utime(place)
            return replace(record, verification=replace(record.verification, status="kept"))
    return None


def encode(record: AttentionRecord) -> bytes:
    """Return the content of a record's file."""
    content = record_file.encode(record)
    return hashlib.sha256(content).hexdigest().encode("ascii") + content


def keep(record: AttentionRecord) -> None:
    """Cache a verified record unless it is too large. Disk errors are ignored."""
    verified = record.verification.status == "verified"
    if not (keeps() and verified and can_keep(record.query) and record.nbytes <= LIMITS.kept_bytes // SHARE):
        return
    try:
        place = folder() / name_of(record.query)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_file(place, encode(record))
        _make_room()
    except (OSError, UserError, ValueError) as error:
        log.info("a record was not kept: %s", error)


def discard(query: Query) -> None:
    """Delete this machine's cached record of a query."""
    with suppress(OSError, UserError):
        (folder() / name_of(query)).unlink(missing_ok=True)


def _make_room() -> None:
    """Delete the least recently used records until the rest fit. Other processes may do this at the same time."""
    known = []
    for path in folder().glob(f"*{SUFFIX}"):
        with suppress(OSError):
            about = path.stat()
            known.append((about.st_mtime_ns, about.st_size, path))
    total = sum(size for _, size, _ in known)
    for _, size, path in sorted(known):
        if total <= LIMITS.kept_bytes:
            return
        with suppress(OSError):
            path.unlink(missing_ok=True)
        total -= size


def difference(kept: AttentionRecord, live: AttentionRecord) -> float:
    """Return the largest difference between the numbers of two records, as a fraction of the largest number of a
    head's queries, keys or values, or of the answer. 0 if all are equal, infinity if tokens, heads, masks or shapes
    differ."""
    sides = [[(part.kind, part.queries, part.keys) for part in record.maps] for record in (kept, live)]
    layers = [[layer for part in record.maps for layer in part.layers] for record in (kept, live)]
    if sides[0] != sides[1] or len(layers[0]) != len(layers[1]):
        return float("inf")
    if _best(kept.prediction) != _best(live.prediction):
        return float("inf")
    pairs = list(zip(_numbers(kept.prediction), _numbers(live.prediction), strict=True))
    for ours, theirs in zip(*layers, strict=True):
        if not (isinstance(ours, Layer) and isinstance(theirs, Layer)) or ours.scale != theirs.scale or not (
                np.array_equal(ours.sees_nothing, theirs.sees_nothing)):
            return float("inf")
        for one, other in ((getattr(ours, name), getattr(theirs, name)) for name in ("query", "key", "value")):
            pairs += zip(one, other, strict=True) if one.shape == other.shape else [(one, other)]   # by head
    if any(one.shape != other.shape for one, other in pairs):
        return float("inf")
    return max((float(np.abs(one - other).max()) / (float(np.abs(other).max()) or 1.0) for one, other in pairs
                if one.size), default=0.0)


def _best(answer: Prediction | None) -> object:
    """Return what two equal answers have in common exactly: of the candidates only the best, because rounding may
    exchange two that are equally likely."""
    return None if answer is None else (answer.kind, answer.positions, [ids[0] for ids in answer.ids])


def _numbers(answer: Prediction | None) -> list[np.ndarray]:
    return [] if answer is None else [np.array([] if each is None else each, np.float64) for each in (
        answer.probabilities, answer.cosines, answer.vector, answer.vectors)]
