"""Cache records on disk by the hash of their query, to draw a known text without loading the model.

A file contains numbers and JSON, with their sha256, but nothing executable (`model.core.record_file.pack`). Files that
are damaged, of another version or for another query are ignored. Records are stored in CLEARHEAD_HOME, up to
LIMITS.kept_bytes, and the least recently used are evicted first. The record of the first page's sentence is shipped.
CLEARHEAD_RECORDS=0 disables reading and writing.
"""
import hashlib
import importlib.metadata
import json
import logging
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from clearhead.model.core.files import ASSETS, home
from clearhead.model.core.files import write as write_file
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import IN_MEMORY, Query, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.record_file import pack, unpack
from clearhead.model.imported.source import PREFIX

VERSION = 2     # to be increased when the computation or the format of records changes
SHIPPED = ASSETS / "records"
SUFFIX = ".record"
SHARE = 16      # a single record may use at most 1/SHARE of the limit
log = logging.getLogger("clearhead")


def folder() -> Path:
    """Return the folder of this machine's records."""
    return home() / "records"


def can_keep(query: Query) -> bool:
    """Return whether a query's record may be cached: only plain texts read by a model, without edits."""
    plain = Query(query.model, query.revision, query.text, query.text_b, query.target, chat=query.chat)
    return (query == plain and not query.model.startswith((PREFIX, IN_MEMORY))
            and os.environ.get("CLEARHEAD_RECORDS") != "0")


def made_of(query: Query) -> list[object]:
    """Return all that determines a record, including the version of transformers, since model code may differ."""
    return [VERSION, importlib.metadata.version("transformers"), query.model, query.revision, query.text, query.text_b,
            query.target, query.chat]


def name_of(query: Query) -> str:
    """Return the name of a query's file."""
    return hashlib.sha256(json.dumps(made_of(query)).encode("ascii")).hexdigest()[:32] + SUFFIX


def read(query: Query) -> AttentionRecord | None:
    """Return the cached record of a query, with the verification status "kept", or None if there is no valid record."""
    for place in (folder() / name_of(query), SHIPPED / name_of(query)) if can_keep(query) else ():
        with suppress(OSError, ValueError):
            record = unpack(place.read_bytes(), AttentionRecord, made_of(query))
            with suppress(OSError):   # the file is shipped, or another user owns it
                os.utime(place)
            if record is not None:
                return replace(record, verification=replace(record.verification, status="kept"))
    return None


def keep(record: AttentionRecord) -> None:
    """Cache a verified record unless it is too large. Disk errors are ignored."""
    verified = record.verification.status == "verified"
    if not (verified and can_keep(record.query) and record.nbytes <= LIMITS.kept_bytes // SHARE):
        return
    try:
        place = folder() / name_of(record.query)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_file(place, pack(record, made_of(record.query)))
        _make_room()
    except (OSError, UserError) as error:   # another process may delete files at the same time
        log.info("a record was not kept: %s", error)


def _make_room() -> None:
    """Delete the least recently used records until the rest fit."""
    known = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in folder().glob(f"*{SUFFIX}"))
    total = sum(size for _, size, _ in known)
    for _, size, path in known:
        if total > LIMITS.kept_bytes:
            path.unlink(missing_ok=True)
        total -= size
