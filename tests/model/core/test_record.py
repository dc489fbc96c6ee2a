import dataclasses

import numpy as np
import pytest

from model.core import heads
from model.core.masks import Causal, Dense, Full, Relative
from model.core.query import Kind, NotFinite
from model.core.record import AttentionMap, AttentionRecord, Reported
from tests.fabricate import HEADS, KEYS, KV_HEADS, QUERIES, layer, record, tokens


@pytest.mark.parametrize("name", ["query", "key", "value"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(name, bad):
    array = np.array(getattr(layer(), name))
    array[0, 1, 2] = bad
    with pytest.raises(NotFinite, match=f"NaN or infinity in the {name} of layer"):
        layer(**{name: array})


@pytest.mark.parametrize("changes", [
    {"key": np.zeros((4, KEYS, 5), np.float32)},            # six query heads do not share four key heads
    {"key": np.zeros((KV_HEADS, KEYS, 7), np.float32)},     # another d_k
    {"value": np.zeros((KV_HEADS, KEYS + 1, 13), np.float32)},
    {"query": np.zeros((HEADS, QUERIES), np.float32)},
    {"query": np.zeros((HEADS, QUERIES, 5), np.float64)},
    {"sink": np.zeros(HEADS + 1, np.float32)},
    {"allowed": Dense(np.ones((KEYS, QUERIES), bool))},     # transposed
    {"bias": Relative(np.zeros((HEADS, QUERIES + KEYS), np.float32), QUERIES)},
])
def test_shapes_that_do_not_fit_are_refused_with_what_was_expected(changes):
    with pytest.raises(ValueError, match=r"expected .*got"):
        layer(**changes)


@pytest.mark.parametrize("sink", [None, np.zeros(HEADS, np.float32)])
def test_row_that_may_look_at_nothing_has_weights_of_zero(sink):
    mask = np.ones((HEADS, QUERIES, KEYS), bool)
    mask[:, 3] = mask[1] = False
    made = layer(allowed=Dense(mask), sink=sink)
    assert (made.sees_nothing == ~mask.any(-1)).all()
    sums = np.stack([heads.weights(made, head).sum(-1) for head in range(HEADS)])
    assert ((sums == 0) == made.sees_nothing).all() and (sums[~made.sees_nothing] > 0.1).all()


def weights() -> np.ndarray:
    numbers = np.random.default_rng(0).random((HEADS, QUERIES, KEYS)).astype(np.float32)
    return numbers / numbers.sum(-1, keepdims=True)


def test_reported_weights_must_be_weights():
    Reported(0, weights(), Full())
    with pytest.raises(ValueError, match="rows that sum to 1"):
        Reported(0, weights() * np.float32(0.9), Full())
    with pytest.raises(ValueError, match="attends outside its mask"):
        Reported(0, weights(), Causal())
    with pytest.raises(ValueError, match="from 0 to 1"):
        Reported(0, -weights(), Full())


def test_a_map_must_fit_its_tokens_and_number_its_layers_once():
    with pytest.raises(ValueError, match="does not fit 5 queries and 11 keys"):
        AttentionMap(Kind.CROSS, tokens(5), tokens(KEYS), (layer(),))
    with pytest.raises(ValueError, match="each layer once"):
        AttentionMap(Kind.CROSS, tokens(QUERIES), tokens(KEYS), (layer(3), layer(3)))


def test_bytes_count_shared_arrays_once():
    one = record(7)
    parts = one.maps[0].layers
    assert one.nbytes == sum(part.query.nbytes + part.key.nbytes + part.value.nbytes for part in parts)
    again = AttentionMap(Kind.CAUSAL, one.maps[0].queries, one.maps[0].keys, parts)
    both = AttentionRecord(one.query, one.card, (one.maps[0], again), one.verification)
    assert both.nbytes == one.nbytes


def test_a_record_holds_what_a_model_of_pictures_got_and_counts_it():
    picture = np.zeros((4, 6, 3), np.uint8)
    plain = record(3)
    shown = dataclasses.replace(plain, picture=picture)
    assert shown.nbytes == plain.nbytes + 72 and not shown.picture.flags.writeable
    for wrong in (picture.astype(np.float32), picture[..., :2], picture[0]):
        with pytest.raises(ValueError, match="uint8"):
            dataclasses.replace(plain, picture=wrong)
