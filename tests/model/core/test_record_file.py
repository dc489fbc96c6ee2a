"""A record as one file: everything is restored, and what could not be opened again is not written."""
import json
from dataclasses import fields, is_dataclass, replace
from typing import get_args

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.cli.commands import answer_to
from clearhead.model.core import heads
from clearhead.model.core.attention import (
    Bias,
    Causal,
    Chunk,
    Dense,
    Full,
    Hidden,
    Mask,
    Narrowed,
    Relative,
    SlidingWindow,
    Sparse,
)
from clearhead.model.core.query import Edit, Hide, Kind, Patch, Query, Silence, Temper, Window, described
from clearhead.model.core.record import AttentionMap, AttentionRecord, Omission, Prediction, Reported, Verification
from clearhead.model.core.tokens import patch_tokens
from clearhead.model.core.view import View
from clearhead.viz.export import provenance
from tests import fabricate

N = 7
MASKS = (Full(), Causal(), SlidingWindow(2, 1), Chunk(3), Dense(np.tri(N, dtype=bool)),
         Dense(np.tri(N, dtype=bool)[None].repeat(6, 0)), Hidden(Full(), (2, 3)),
         Narrowed(Causal(), 3, 1), Hidden(Narrowed(Dense(np.tri(N, dtype=bool)), 4, 1), (3,)),
         Narrowed(Hidden(SlidingWindow(3), (4,)), 2, 0),
         Sparse(np.tri(N, dtype=bool)))
BIASES = (None, Relative(np.linspace(-1, 1, 6 * 13, dtype=np.float32).reshape(6, 13), N),
          Dense(np.linspace(-2, 0, N * N, dtype=np.float32).reshape(N, N)),
          Dense(np.linspace(-2, 0, 6 * N * N, dtype=np.float32).reshape(6, N, N)))


EDITS = (Silence(Kind.SELF, 0, 1), Temper(Kind.SELF, 0, 2, 0.5), Hide("source", 3), Window(3, 1),
         Patch(Kind.SELF, 1, 2, Query("fabricated", "0", "a long text " * 900)))


def opened(path) -> AttentionRecord:
    return answer_to(sources.open_query(*sources.import_file(path.read_bytes(), path.name)))


def equal(one, other) -> bool:
    """Whether two values are the same, arrays and dataclasses included."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if is_dataclass(one):
        return type(one) is type(other) and all(equal(getattr(one, field.name), getattr(other, field.name))
                                                for field in fields(one))
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def everything() -> AttentionRecord:
    """A record over two sides with every mask, bias, sinks, soft-caps, temperatures and a reported layer."""
    layers = [fabricate.layer(index, N, N, allowed=mask) for index, mask in enumerate(MASKS)]
    layers += [fabricate.layer(20 + index, N, N, bias=bias) for index, bias in enumerate(BIASES)]
    layers.append(fabricate.layer(30, N, N, softcap=3.0, sink=np.arange(6, dtype=np.float32),
                                  temperature=np.full(6, 0.5, np.float32), gate=np.full((6, N), 0.3, np.float32)))
    narrow = replace(fabricate.layer(31, N, N), scale=0.3)
    layers.append(replace(narrow, **{name: getattr(narrow, name)[:2] for name in ("query", "key", "value")}))
    layers.append(replace(narrow, index=35, replaced_heads=(1, 4), replaced=narrow.value[[0, 2]] / 3))
    layers.append(replace(narrow, index=37, beside=np.full(N, 0.4, np.float32)))
    layers.append(replace(narrow, index=36, minus=replace(narrow, index=36, scale=0.1), minus_factor=0.4))
    layers.append(Reported(32, np.full((3, N, N), 1 / N, np.float32), Full()))
    layers.append(Reported(33, np.full((2, N, N), 0.75 / N, np.float32), Full(), np.full((2, N), 0.245, np.float32),
                           tolerance=2**-7))
    layers.append(Reported(34, np.tri(N, dtype=np.float32)[None] / np.arange(1, N + 1, dtype=np.float32)[:, None],
                           Causal()))
    made = fabricate.record(N)
    cross = AttentionMap(Kind.CROSS, fabricate.tokens(4), made[Kind.SELF].queries, (fabricate.layer(0, 4, N),))
    whole = AttentionMap(Kind.SELF, made[Kind.SELF].queries, made[Kind.SELF].queries, tuple(layers))
    answer = Prediction("mask", (1, 3), ((5, 2), (9, 1)), (("a", "b"), ("c", "d")), ((0.5, 0.25), (0.75, 0.125)),
                        (1.5, 2.0), np.ones(4, np.float32))
    return replace(made, maps=(whole, cross), notes=("A note.",), omitted=Omission(3, "and so on", 7),
                   prediction=answer, query=replace(made.query, edits=frozenset({Silence(Kind.SELF, 0, 1)})))


def test_everything_is_restored_bit_for_bit(tmp_path):
    made = everything()
    found = opened(made.save(tmp_path / "mine.safetensors"))
    assert equal(found.maps, made.maps) and found.omitted == made.omitted
    assert found.notes[0] == "A note." and "self layer 0 head 1 silenced" in found.notes[1]
    assert found.verification == replace(made.verification, status="recorded") and found.query.text == made.query.text
    assert found.asked == made.query and found.card.revision == made.card.revision
    assert equal(found.prediction, made.prediction)
    for kind in made.kinds:
        for ours, theirs in zip(made[kind].layers, found[kind].layers, strict=True):
            assert all((heads.weights(ours, head) == heads.weights(theirs, head)).all() for head in range(ours.heads))
    assert "Recorded elsewhere" in found.card.note and found.card.title == made.card.title
    again = opened(found.save(tmp_path / "again.safetensors"))
    assert equal(again.maps, made.maps) and again.verification.status == "recorded"
    assert again.asked == made.query and again.notes == found.notes


def test_contract_covers_every_mask_bias_and_edit():
    """A new type fails here until a record of it is saved and opened above."""
    for union, values in ((Mask, MASKS), (Bias, BIASES), (Edit, EDITS)):
        assert {type(value) for value in values} == set(get_args(union))
    layers = everything()[Kind.SELF].layers
    for kind in (type(layers[0]), Reported):   # each field differs from its default in some layer
        for field in fields(kind):
            assert len({repr(getattr(layer, field.name)) for layer in layers if type(layer) is kind}) > 1, field.name


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: type(edit).__name__)
def test_record_with_any_edit_opens_and_names_it(edit, tmp_path):
    made = fabricate.record(N)
    if isinstance(edit, Patch):
        edit = replace(edit, from_query=replace(edit.from_query, model=made.query.model, revision=made.query.revision))
    made = replace(made, query=replace(made.query, edits=frozenset({edit})))
    path = made.save(tmp_path / "mine.safetensors")
    found = opened(path)
    assert found.asked == made.query and described(edit) in found.notes[0]
    view = View(kind=Kind.SELF)
    texts, lines = provenance.sentences(found)
    assert (texts, [line.replace("recorded elsewhere with its verification", "verified")
                    for line in lines]) == provenance.sentences(made)
    told = json.loads(provenance.dumps(found, view))
    assert told["edits"] == json.loads(provenance.dumps(made, view))["edits"] != []


def test_picture_and_its_patches_come_back(tmp_path):
    tokens = patch_tokens(2, 3)
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    made = fabricate.record(7)
    made = replace(made, maps=(AttentionMap(Kind.SELF, tokens, tokens, (fabricate.layer(0, 7, 7),)),), picture=pixels,
                   query=replace(made.query, text="", image="a" * 64))
    found = opened(made.save(tmp_path / "picture.safetensors"))
    assert equal(found.picture, pixels) and found[Kind.SELF].queries == tokens
    assert found[Kind.SELF].queries.grid == (2, 3)
    assert found.query.text == f"a picture, sha256 {'a' * 64}"


@pytest.mark.parametrize(("verification", "status"), [
    (Verification("verified", 1e-6), "recorded"), (Verification("verified"), "imported"),
    (Verification("reported", reasons=("By hand.",)), "imported"), (Verification("verified", 2e-3), "imported"),
    (Verification("verified", 0.2, tolerance=5.0), "imported"), (Verification("refused", 0.2), "imported")])
def test_only_a_verification_with_figures_counts(verification, status, tmp_path):
    found = opened(replace(fabricate.record(5), verification=verification).save(tmp_path / "mine.safetensors"))
    assert found.verification.status == status and found.verification.reasons == verification.reasons
