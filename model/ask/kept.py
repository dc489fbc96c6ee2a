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
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clearhead.model.core import record_file
from clearhead.model.core.files import ASSETS
from clearhead.model.core.files import write as write_file
from clearhead.model.core.limits import LIMITS, home, keeps
from clearhead.model.core.query import IN_MEMORY, Query, UserError
from clearhead.model.core.record import AttentionRecord
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


def same(kept: AttentionRecord, live: AttentionRecord) -> bool:
    """Return whether two records have the same tokens, heads, masks and answer, and the same numbers up to rounding. Of
    an answer's candidates only the best are compared, because rounding may exchange two that are equally likely."""
    return _same(*((record.maps, record.prediction and replace(
        record.prediction, ids=tuple(ids[:1] for ids in record.prediction.ids), texts=())) for record in (kept, live)))


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | float):
        largest = np.abs(np.nan_to_num(other)).max(initial=0)
        return np.shape(one) == np.shape(other) and np.allclose(one, other, 0, SAME * largest, equal_nan=True)
    if is_dataclass(one):
        return all(_same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
