"""Untrusted records: damaged or fabricated ones give one sentence before memory is spent, never a traceback."""
import io
import json
import struct
import tracemalloc
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core import heads
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.imported import record_file
from clearhead.model.imported.record_file import read_record
from tests.hostile import changed, changed_by, damaged, examples
from tests.model.core.test_record_file import everything


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    return everything().save(tmp_path_factory.mktemp("good") / "x.safetensors").read_bytes()


def parts(content: bytes) -> tuple[dict, dict, bytes]:
    """Return (header, metadata beside the tensors, data)."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    return header, json.loads(header["__metadata__"]["clearhead"]), content[8 + length:]


def whole(header: dict, about, data: bytes) -> bytes:
    text = json.dumps(header | {"__metadata__": {"clearhead": json.dumps(about)}}).encode()
    return struct.pack("<Q", len(text)) + text + data


def opened(content: bytes) -> AttentionRecord | None:
    """Return the record, or None if the file is refused in one sentence."""
    try:
        found = read_record(io.BytesIO(content), "mine.safetensors").record
    except UserError as error:
        said = str(error)
        assert "mine.safetensors" in said and "\n" not in said and said.endswith(".") and len(said) < 600, said
        return None
    for part in found.maps:
        for layer in part.layers:
            assert np.isfinite(heads.weights(layer, 0)).all()
    assert found.verification.status in ("recorded", "imported") and found.nbytes >= 0 and found.card.note
    return found


@examples(150)
@given(data=st.data())
def test_damaged_bytes_give_a_record_or_one_sentence(good, data):
    opened(data.draw(damaged(good)))


@examples(250)
@given(data=st.data())
def test_changed_contents_give_a_record_or_one_sentence(good, data):
    header, about, content = parts(good)
    opened(whole(header, data.draw(changed(about)), content))


@examples(150)
@given(seed=st.integers(0, 2**32 - 1))
def test_changed_header_gives_a_record_or_one_sentence(good, seed):
    header, about, content = parts(good)
    header.pop("__metadata__")
    opened(whole(changed_by(Random(seed), header), about, content))


def test_fabricated_files_are_refused_with_the_reason(good):
    header, about, data = parts(good)
    name = about["maps"][0]["layers"][0]["query"]["array"]
    entry = header[name]

    def said(header=header, about=about, data=data, content=None) -> str:
        with pytest.raises(UserError) as refused:
            read_record(io.BytesIO(whole(header, about, data) if content is None else content), "mine.safetensors")
        return str(refused.value)

    for broken in ({"data": data[:-1]}, {"data": data + b"x"}, {"content": b""},
                   {"content": struct.pack("<Q", 2**62) + b"{}"}, {"content": struct.pack("<Q", 2) + b"{}"},
                   {"header": header | {"twice": entry}},
                   {"header": header | {name: entry | {"shape": [2**40, 2**40, 2**40]}}},
                   {"header": header | {name: entry | {"dtype": "F64"}}}):
        assert "not a record that can be read" in said(**broken)
    assert "another version" in said(about=about | {"format": "Clearhead record 99"})
    part = about["maps"][0]
    loose = {**part["layers"][0], "query": {"array": "nowhere"}}
    assert "nowhere" in said(about=about | {"maps": [part | {"layers": [loose]}]})
    far = {**part["layers"][0], "scale": 1e29}
    assert "overflow float32" in said(about=about | {"maps": [part | {"layers": [far]}]})
    capped = {**part["layers"][0], "minus": {**part["layers"][0], "softcap": -1.0}}
    assert "must be above 0" in said(about=about | {"maps": [part | {"layers": [capped]}]})
    deep = '{"type": "Hidden", "base": ' * 5_000 + "0" + ', "hidden": []}' * 5_000
    layer = json.dumps({**part["layers"][0], "allowed": 0}).replace('"allowed": 0', f'"allowed": {deep}')
    text = json.dumps(about | {"maps": [part | {"layers": ["HERE"]}]}).replace('"HERE"', layer)
    header = json.dumps(header | {"__metadata__": {"clearhead": text}}).encode()
    assert "nested too deeply" in said(content=struct.pack("<Q", len(header)) + header + data)


@pytest.mark.parametrize(("limit", "value", "setting"), [
    ("layers", 3, "layers and the limit"), ("heads", 20, "heads and the limit"),
    ("record_cells", 500, "weights and the limit"), ("tokens", 6, "CLEARHEAD_TOKENS")])
def test_sizes_are_checked_against_the_limits(good, limit, value, setting, monkeypatch):
    monkeypatch.setattr(record_file, "LIMITS", replace(LIMITS, **{limit: value}))
    with pytest.raises(UserError, match=setting):
        read_record(io.BytesIO(good), "mine.safetensors")


def test_file_that_declares_much_costs_little_memory(good):
    header, about, data = parts(good)
    part = about["maps"][0]
    many = about | {"maps": [part | {"layers": part["layers"][:1] * 100_000}]}
    content = whole(header, many, data)
    tracemalloc.start()
    try:
        assert opened(content) is None
        assert tracemalloc.get_traced_memory()[1] < 30 * len(content)
    finally:
        tracemalloc.stop()
