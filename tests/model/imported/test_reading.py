"""Untrusted NPZ files give the same attention, or one sentence and little memory."""
import io
import re
import struct
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core import heads
from clearhead.model.core.attention import Dense
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionMap
from clearhead.model.core.view import View, displayed_head
from clearhead.model.imported.reading import read_attention
from clearhead.viz.export.formats import export
from tests import fabricate
from tests.hostile import changed, damaged, examples

TOKENS = ["[CLS]", "play", "##ing", "cards", "[SEP]"]
ROOT = Path(__file__).parents[3]


def softmax(*shape: int, causal: bool = False, seed: int = 0) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=shape)
    if causal:
        scores[..., np.triu(np.ones(shape[-2:], bool), 1)] = -np.inf
    grown = np.exp(scores)
    return grown / grown.sum(-1, keepdims=True)


def saved(**arrays) -> bytes:
    target = io.BytesIO()
    np.savez(target, **arrays)
    return target.getvalue()


def opened(content: bytes, name: str = "mine.npz"):
    return read_attention(io.BytesIO(content), name).record


def refusal(content: bytes) -> str:
    with pytest.raises(UserError) as refused:
        opened(content)
    said = str(refused.value)
    assert said.startswith("mine.npz") and "\n" not in said and said.endswith(".") and len(said) < 700
    return said


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_plain_attention_opens_as_it_was_saved(dtype, order):
    weights = softmax(2, 3, 5, 5).astype(dtype)
    found = opened(saved(attention=np.asarray(weights, order=order), tokens=TOKENS))
    (each,) = found.maps
    assert each.kind is Kind.SELF and each.queries.texts == tuple(TOKENS) and found.query.text == " ".join(TOKENS)
    assert all((layer.weights == weights[layer.index].astype(np.float32)).all() for layer in each.layers)
    assert each.queries.special == (True, False, False, False, True) and each.queries.words == (-1, 1, 1, 3, -1)
    assert [found.query.text[slice(*span)] for span in each.queries.spans] == TOKENS


def test_sink_share_survives_loading_and_saving():
    with_sink = fabricate.layer(0, 7, 7, sink=np.linspace(-1, 2, 6).astype(np.float32))
    narrow = fabricate.layer(4, 7, 7)
    narrow = replace(narrow, **{name: getattr(narrow, name)[:2] for name in ("query", "key", "value")})
    made = fabricate.record(7)
    both = AttentionMap(Kind.SELF, made.maps[0].queries, made.maps[0].keys, (with_sink, narrow))
    content = export(".npz", replace(made, maps=(both,)), View(kind=Kind.SELF))
    for _ in range(2):
        found = opened(content)
        sunk, plain = found.maps[0].layers
        for head in range(6):
            score = with_sink.query[head] @ with_sink.key[head // 2].T * with_sink.scale
            share = np.exp(with_sink.sink[head]) / (np.exp(score).sum(-1) + np.exp(with_sink.sink[head]))
            assert np.allclose(heads.sink_share(sunk, head), share, atol=1e-5)
            assert np.allclose(sunk.weights[head].sum(-1), 1 - share, atol=1e-5)
        assert np.allclose(plain.weights.sum(-1), 1) and plain.heads == 2 and found.verification.row_sum_error < 1e-5
        assert "sink" in " ".join(displayed_head(replace(made, maps=found.maps), View(kind=Kind.SELF)).notes)
        content = export(".npz", replace(made, maps=found.maps), View(kind=Kind.SELF))


def bfloat16(weights: np.ndarray) -> np.ndarray:
    return torch.from_numpy(weights.astype(np.float32)).bfloat16().float().numpy()


@pytest.mark.parametrize("rounded", [bfloat16, lambda weights: weights.astype(np.float16)])
@pytest.mark.parametrize("n", [5, 40, 700])
def test_rows_of_16_bits_open(rounded, n):
    weights = rounded(softmax(1, 2, n, n))
    found = opened(saved(attention=weights, tokens=[f"t{at}" for at in range(n)]))
    error = np.abs(weights.astype(np.float32).sum(-1) - 1).max()
    assert (found.maps[0].layers[0].weights == weights).all() and abs(found.verification.row_sum_error - error) < 1e-6
    assert [note for note in found.notes if f"{error:.4f}" in note] == list(found.notes)
    assert bool(found.notes) == (error > 1e-3)


WIDE, NAMES = softmax(1, 2, 24, 24), [f"t{at}" for at in range(24)]
PADDED = np.where(np.arange(24)[:, None] < 3, 0, WIDE)
KEPT = np.random.default_rng(1).random(WIDE.shape) > 0.3
LOWER = softmax(1, 2, 24, 24, causal=True, seed=3)
NO_WEIGHTS = {   # what the sentence says of each
    "rows that sum to 1, got sums from 0.5 to 0.5": (WIDE / 2,),
    "rows that sum to 1, got sums from ": (WIDE * KEPT / 0.7, WIDE.swapaxes(2, 3), WIDE.round(2),
                                           bfloat16(WIDE).swapaxes(2, 3), WIDE + 0.0004 * KEPT - 0.00028),
    "weights from 0 to 1": (LOWER * KEPT / 0.7, np.log(WIDE), WIDE * 100, WIDE.sum(1)[:, None] * 24),
    "NaN or infinity in the weights of layer 0": (
        np.where(np.eye(24) > 0, np.inf, WIDE), np.where(np.tri(24) > 0, WIDE, -np.inf),
        np.where(PADDED > 0, PADDED, np.nan))}


def test_rows_of_zeros_mean_no_allowed_keys():
    left = 1 - WIDE.astype(np.float32).sum(-1) - 1e-7   # a little below 0
    layer = opened(saved(attention=PADDED, tokens=NAMES, sink=left)).maps[0].layers[0]
    assert (layer.sees_nothing == (np.arange(24) < 3)).all()
    masked = np.concatenate([WIDE, WIDE * 0])
    layers = opened(saved(attention=masked, tokens=NAMES)).maps[0].layers
    assert [layer.sees_nothing.all() for layer in layers] == [False, True]
    assert "all weights are zero" in refusal(saved(attention=PADDED * 0, tokens=NAMES))


@pytest.mark.parametrize("said", list(NO_WEIGHTS))
def test_non_softmax_says_what_is_wrong_and_what_to_save(said):
    for numbers in NO_WEIGHTS[said]:
        sentence = refusal(saved(attention=numbers, tokens=NAMES))
        assert said in sentence and "save float32 weights after the softmax and before dropout" in sentence


@pytest.mark.parametrize(("said", "kept", "sink"), [
    ("from 0 to 1", 0.8, -0.2), ("sums from 1.2 to 1.2", 1, 0.2), ("NaN or infinity in the sink_share", 1, np.nan),
    ("sums from 0.3 to 0.3", 0, 0.3)])
def test_sink_that_takes_no_share_is_refused(said, kept, sink):
    layers, shares = np.concatenate([WIDE / 2, WIDE * kept]), np.repeat([0.5, sink], 48).reshape(2, 2, 24)
    assert said in refusal(saved(attention=layers, tokens=NAMES, sink=shares))


def test_export_of_attention_that_sees_nothing_opens():
    made = fabricate.record(7)
    nothing = replace(made.maps[0].layers[0], allowed=Dense(np.zeros((7, 7), bool)))
    content = export(".npz", replace(made, maps=(replace(made.maps[0], layers=(nothing,)),)), View(kind=Kind.SELF))
    assert opened(content).maps[0].layers[0].sees_nothing.all()


GOOD = softmax(1, 2, 5, 5)
BAD = {
    "no array named attention": {"other": GOOD}, "no array named tokens": {"attention": GOOD},
    "has 4 texts for 5": (GOOD, TOKENS[:4]), "stack the layers": (GOOD[0], TOKENS),
    "attention and self both hold": {"attention": GOOD, "self": GOOD, "tokens": TOKENS},
    "Python objects": (GOOD.astype(object), TOKENS), "holds int64": (np.eye(5, dtype=int)[None, None], TOKENS),
    "holds complex128": (GOOD + 0j, TOKENS), "holds float64": (GOOD, np.arange(5.0)),
    "holds [('x', '<f8')]": (GOOD.view([("x", "f8")]), TOKENS),
    "same tokens on both sides": {"self": GOOD, "queries_self": TOKENS, "keys_self": [*TOKENS[:4], "x"]},
    "queries_self": {"self": GOOD},
    "sink has the shape (1, 2, 4) instead of (1, 2, 5)": {
        "attention": GOOD, "tokens": TOKENS, "sink": np.zeros((1, 2, 4), np.float32)},
    "one number a layer": {"self": GOOD, "queries_self": TOKENS, "keys_self": TOKENS, "layers_self": [0, 1]},
    "no weight outside the mask": {"causal": GOOD, "queries_causal": TOKENS, "keys_causal": TOKENS},
    "5 queries and 4 keys": (GOOD[..., 1:], TOKENS), "decode or replace": (GOOD, ["é".encode("latin1")] * 5),
    "surrogates not allowed": (GOOD, ["a", "b", "c", "d", "\ud800"]),
    "with 1 to 4,096 tokens": (np.zeros((1, 1, 0, 0)), []),
}


@pytest.mark.parametrize("said", list(BAD))
def test_non_attention_gives_one_sentence(said):
    arrays = BAD[said]
    assert said in refusal(saved(**(arrays if isinstance(arrays, dict)
                                    else {"attention": arrays[0], "tokens": arrays[1]})))


def header(shape: tuple, descr: str = "<f4") -> bytes:
    target = io.BytesIO()
    np.lib.format.write_array_header_1_0(target, {"descr": descr, "fortran_order": False, "shape": shape})
    return target.getvalue()


def zipped(**entries: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return target.getvalue()


def good_member(values=((((1.0,),),),)) -> bytes:
    target = io.BytesIO()
    np.save(target, np.array(values))
    return target.getvalue()


def packed(how: int) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", how) as archive:
        archive.writestr("attention.npy", header((1, 1, 4, 4)) + bytes(8_000_000))
    return target.getvalue()


@pytest.mark.parametrize(("content", "said"), [
    (b"", "can be read"), (b"PK\x03\x04 broken", "can be read"), (b"\x93NUMPY", "can be read"),
    (zipped(attention=b"\x93NUMPY\x09\x00zz", tokens=b""), "can be read"),
    (zipped(attention=b"no header", tokens=b""), "can be read"),
    (zipped(attention=header((10**30, 1, 2, 2)), tokens=b""), "can be read"),
    (zipped(attention=header((1, 1, 2, 2)) + b"1234", tokens=b""), "can be read"),
    (zipped(attention=header((1, 1, 2, 2)) + b"\0" * 999, tokens=b""), "more bytes than its header"),
    (zipped(attention=header((1, 1, -2, 2)), tokens=b""), "can be read|shape"),
    (zipped(attention=header((1,) * 900), tokens=b""), "can be read"),
    (zipped(attention=good_member(), tokens=header((4_000_000,), "<U0")), "CLEARHEAD_TOKENS"),
    (zipped(attention=good_member(), tokens=header((1,), "<U1") + (0x110000).to_bytes(4, "little")), "can be read"),
    (zipped(attention=header((1, 30_000, 1, 1)) + np.ones(30_000, "<f4").tobytes(), tokens=b""), "heads and the limit"),
    (zipped(attention=good_member(), tokens=header((5_000,), "<U1") + bytes(20_000)), "CLEARHEAD_TOKENS"),
    (zipped(attention=b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(1_000_000), tokens=b""), "can be read"),
    (zipped(attention=b"\x93NUMPY\x01\x00\xff\x00" + b"[" * 255, tokens=b""), "can be read"),
    (zipped(attention=b"\x93NUMPY\x01\x00\xff\x00" + b"-" * 255, tokens=b""), "can be read"),
    # functions: compressing these takes seconds, which every process would spend on importing this module
    (lambda: zipped(attention=header((1, 1, 4, 4)) + bytes(300_000_000), tokens=b""), "CLEARHEAD_IMPORT_MB"),
    (lambda: packed(zipfile.ZIP_BZIP2), "unsupported compression"),
    (lambda: packed(zipfile.ZIP_LZMA), "unsupported compression"),
    (lambda: zipped(**{f"a{place}": b"" for place in range(5_001)}), "5,001 arrays and the limit is 5,000")],
    ids=lambda value: None if isinstance(value, str) else "")
def test_broken_files_cost_little_memory(content, said):
    content = content() if callable(content) else content
    tracemalloc.start()
    try:
        assert re.search(said, refusal(content))
        assert tracemalloc.get_traced_memory()[1] < 30_000_000 + 3 * len(content)
    finally:
        tracemalloc.stop()


def test_pickle_is_never_run(tmp_path):
    class Runs:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    for content in ({"attention": np.array([Runs()], object), "tokens": TOKENS},
                    {"attention": GOOD, "tokens": np.array([Runs()] * 5, object)}):
        refusal(saved(**content))
    assert not (tmp_path / "ran").exists()


@given(st.binary(max_size=300), st.integers(0, 2_000), st.integers(0, 255))
def test_any_bytes_give_attention_or_one_sentence(noise, place, byte):
    whole = bytearray(saved(attention=GOOD, tokens=TOKENS))
    whole[place % len(whole)] = byte
    for content in (noise, bytes(whole), bytes(whole[:place])):
        try:
            found = opened(content)
        except UserError as error:
            assert str(error).startswith("mine.npz") and len(str(error)) < 700
        else:
            assert np.allclose(found.maps[0].layers[0].weights.sum(-1), 1, atol=2**-7)


ODD = st.sampled_from((True, False, -1, 0, 1, 2, 3, 2**31, 2**63, 10**30, 1.5, None, "2", (1,)))
SHAPES = st.lists(st.integers(1, 3) | ODD, max_size=5).map(tuple) | ODD
TYPES = st.text(max_size=3) | ODD | st.sampled_from((
    "<f4", ">f8", "<f2", "<U0", "<U1", "<U9", ">U2", "S0", "S1", "|O", "<i8", "|b1", "<M8[s]", "f4,f4", "V8", "a3",
    "<c8", "", "?", "<f16", "U99999999999", "(2,2)f4"))


@examples(200)
@given(data=st.data())
def test_any_header_gives_attention_or_one_sentence(data):
    def member() -> bytes:
        """Return an NPY file with an arbitrary header."""
        fields = {"descr": data.draw(TYPES), "fortran_order": data.draw(ODD), "shape": data.draw(SHAPES)}
        text = repr(data.draw(changed(fields)) if data.draw(st.booleans()) else fields).encode("utf-8", "replace")
        content = data.draw(st.binary(max_size=99) | st.just(np.ones(9, "<f4").tobytes())
                            | st.just(np.array(["a", chr(0x10FFFF)], "<U1").tobytes() + b"\0\0\x11\0"))
        return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + content

    names = st.sampled_from(("attention", "tokens", "queries", "keys", "self", "heads_self", "queries_self",
                             "keys_self", "layers_self", "provenance", "causal"))
    whole = zipped(**{"attention": good_member(), "tokens": good_member(["a"])}
                   | {name: member() for name in data.draw(st.lists(names, max_size=4))})
    try:
        found = opened(data.draw(st.just(whole) | damaged(whole)))
    except UserError as error:
        assert str(error).startswith("mine.npz") and "\n" not in str(error) and str(error).endswith(".")
        assert len(str(error)) < 700
    else:
        assert np.allclose(found.maps[0].layers[0].weights.sum(-1), 1, atol=2**-7)


def test_documented_example_opens(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(re.search(r"```python\n(import numpy.*?)```", text, re.DOTALL)[1], "own-model.md", "exec"), {})
    found = opened((tmp_path / "mine.npz").read_bytes())
    assert found.maps[0].kind is Kind.CAUSAL and found.maps[0].queries.texts == ("one", "two", "three")
