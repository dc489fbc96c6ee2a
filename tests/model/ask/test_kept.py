"""Records cached on disk: drawn without torch, equal to live ones, and never trusted if anything is wrong."""
import hashlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk, kept
from clearhead.model.core import heads
from clearhead.model.core.limits import Limits
from clearhead.model.core.query import quiet
from clearhead.model.core.record_file import DIGEST
from clearhead.model.pretrained import files
from clearhead.model.studies.comparison import AlignmentQuery
from tests import headline
from tests.conftest import ROOT

MODEL, TEXT = "resolver-narrow", "The dog chased the cat because it was tired ."


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path))
    monkeypatch.setenv("CLEARHEAD_RECORDS", "1")
    desk.cache.clear()
    desk._doubted.clear()
    yield tmp_path
    desk.cache.clear()
    desk._doubted.clear()


@pytest.fixture
def record(home):
    """A record that was asked for and is on disk."""
    found = desk.models.record(sources.open_query(MODEL, TEXT), quiet)
    kept.keep(found)
    desk.cache.clear()
    return found


def file_of(record):
    return kept.folder() / kept.name_of(record.query)


def same(one, other):
    """Whether two records have the same answer and heads."""
    return (one.card, one.notes, vars(one.prediction)) == (other.card, other.notes, vars(other.prediction)) and all(
        map(np.array_equal, *([heads.whole(layer) for part in each.maps for layer in part.layers]
                              for each in (one, other))))


def test_kept_record_equals_the_live_one(record):
    again = desk.ask(record.query).result()
    assert again.verification.status == "kept" and same(again, record)


def test_check_puts_the_live_record_in_its_place(record):
    desk.ask(record.query).result()
    assert not desk.check(record.query) or desk.cached(record.query).verification.status == "verified"
    live = desk.ask(desk.CheckQuery(record.query)).result()
    assert live.verification.status == "verified" and desk.check(record.query) and same(live, record)


def test_wrong_record_is_replaced_with_all_that_was_computed_from_it(record):
    layer = record.maps[0].layers[0]
    wrong = replace(record.maps[0], layers=(replace(layer, query=layer.query + 1), *record.maps[0].layers[1:]))
    kept.keep(replace(record, maps=(wrong, *record.maps[1:]), prediction=None))
    overview = heads.OverviewQuery(record.query, record.kinds[0])
    other = AlignmentQuery(replace(record.query, text="The cat ."), record.query, record.kinds[:1] * 2)
    assert desk.ask(record.query).result().prediction is None and desk.ask(other).result()
    drawn = desk.ask(overview).result()
    assert same(desk.ask(desk.CheckQuery(record.query)).result(), record) and same(kept.read(record.query), record)
    assert any((one != other).any() for one, other in zip(desk.ask(overview).result().cells, drawn.cells))
    assert desk.cached(other) is None


def signed(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + content


DAMAGE = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:-100],
    "a bit turned": lambda content: content[:-7] + bytes([content[-7] ^ 1]) + content[-6:],
    "foreign": lambda content: b"\x80\x04\x95" + content,
    "another question": lambda content: signed(content[DIGEST:].replace(b"chased", b"kicked")),
    "no header": lambda content: signed(b"\xff" * 64),
    "wrong types": lambda content: signed(content[DIGEST:].replace(b'"id', b'"no')),
    "NaN": lambda content: signed(content[DIGEST:-4] + b"\x00\x00\xc0\x7f"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_file_is_ignored_and_rewritten(record, damage):
    place = file_of(record)
    place.write_bytes(damage(place.read_bytes()))
    assert kept.read(record.query) is None
    desk.ask(record.query).result()
    for thread in threading.enumerate():
        if thread.name == "clearhead-keep":
            thread.join()
    assert same(kept.read(record.query), record)


def test_least_recently_used_go_first(record, monkeypatch):
    size = file_of(record).stat().st_size
    monkeypatch.setattr(kept, "LIMITS", Limits(kept_bytes=2 * size + 100))
    monkeypatch.setattr(kept, "SHARE", 1)
    second, third = (replace(record, query=replace(record.query, text=text)) for text in ("one", "two"))
    os.utime(file_of(record), (1, 1))
    kept.keep(second)
    os.utime(file_of(second), (2, 2))
    kept.read(record.query)   # which makes it the most recent
    kept.keep(third)
    assert [file_of(each).exists() for each in (record, second, third)] == [True, False, True]


SHIPPED = f"""
import json, sys
from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core import record as record_model
record = desk.ask(sources.open_query("minilm", {headline.TIRED!r})).result()
heads.overview(record.maps[0])
print(json.dumps([record.verification.status, [name for name in ("torch", "transformers") if name in sys.modules]]))
"""


def test_shipped_record_is_drawn_without_torch(home):
    done = subprocess.run([sys.executable, "-c", SHIPPED], capture_output=True, encoding="utf-8", cwd=ROOT, check=True)
    assert json.loads(done.stdout) == ["kept", []]


def test_file_is_hashed_again_when_it_changes(home, monkeypatch):
    path, computed = home / "model.safetensors", []
    path.write_bytes(b"a" * 9)
    monkeypatch.setattr(hashlib, "file_digest", lambda file, name, digest=hashlib.file_digest:
                        computed.append(path) or digest(file, name))
    assert files.sha256(path) == files.sha256(path) == hashlib.sha256(b"a" * 9).hexdigest() and len(computed) == 1
    times = path.stat()
    path.write_bytes(b"b" * 9)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))   # same size and modification time
    assert files.sha256(path) == hashlib.sha256(b"b" * 9).hexdigest()
