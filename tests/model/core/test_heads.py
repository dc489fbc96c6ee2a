"""Weights against the formula by hand, measures against their equations, tables against Python's own writer."""
import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core import heads
from clearhead.model.core.attention import Dense, Relative, SlidingWindow
from clearhead.model.core.heads import as_csv, by_head, head_frame, measure
from clearhead.model.core.query import Kind
from clearhead.model.core.record import AttentionMap
from tests.fabricate import HEADS, KEYS, KV_HEADS, QUERIES, layer, record, tokens


def by_hand(part, head: int) -> np.ndarray:
    """softmax(cap(q kᵀ scale) + bias) under the mask, in float64, without our own equation."""
    rows, keys = slice(0, part.shape[1]), slice(0, part.shape[2])
    numbers = part.query[head].astype(float) @ part.key[head // (HEADS // KV_HEADS)].astype(float).T * part.scale
    if part.softcap:
        numbers = part.softcap * np.tanh(numbers / part.softcap)
    if part.bias is not None:
        numbers = numbers + part.bias.block(rows, keys)[head]
    numbers = np.where(part.allowed.block(rows, keys), numbers, -np.inf)
    if part.temperature is not None:
        numbers = numbers / part.temperature[head]
    if part.sink is not None:
        sink = part.sink[head] / (1 if part.temperature is None else part.temperature[head])
        numbers = np.concatenate([numbers, np.full((len(numbers), 1), sink)], axis=1)
    raised = np.exp(numbers - numbers.max(1, keepdims=True))
    return (raised / raised.sum(1, keepdims=True))[:, :part.shape[2]]


BIAS = Relative(np.random.default_rng(5).normal(size=(HEADS, QUERIES + KEYS - 1)).astype(np.float32), QUERIES)
PARTS = [{}, {"softcap": 1.3}, {"bias": BIAS}, {"allowed": SlidingWindow(2, 5)},
         {"sink": np.linspace(-1, 2, HEADS, dtype=np.float32)},
         {"temperature": np.linspace(0.3, 4, HEADS, dtype=np.float32), "sink": np.ones(HEADS, np.float32)}]


@pytest.mark.parametrize("changes", PARTS, ids=lambda changes: "+".join(changes) or "plain")
def test_weights_equal_the_formula_by_hand(changes):
    part = layer(**changes)
    expected = np.stack([by_hand(part, head) for head in range(HEADS)])
    assert np.allclose([heads.weights(part, head) for head in range(HEADS)], expected, atol=1e-6)
    assert np.allclose(np.stack([heads.row_weights(part, query) for query in range(QUERIES)], 1), expected, atol=1e-6)
    blocks = np.zeros_like(expected)
    for rows, keys, block in heads.weight_blocks(part, size=3):
        blocks[:, rows, keys] = block
    assert np.allclose(blocks, expected, atol=1e-6)


def test_ranking_is_by_weight():
    each = AttentionMap(Kind.CROSS, tokens(QUERIES), tokens(KEYS), (layer(2), layer(5)))
    order = heads.rank_heads_for_pair(each, 3, 8)
    assert len(order) == 2 * HEADS
    assert [weight for *_, weight in order] == sorted((weight for *_, weight in order), reverse=True)
    for index, head, weight in order:
        assert weight == pytest.approx(by_hand(each.layer(index), head)[3, 8], abs=1e-6)


@pytest.mark.parametrize("n", [1, 7, 64, 65, 131, 300])
@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_thumbnail_is_max_pooled(n, kind):
    attention_map = record(n, kind)[kind]
    found = heads.overview(attention_map)
    size = found.pool[0]
    for part, cells in zip(attention_map.layers, found.cells):
        assert cells.shape == (HEADS, -(-n // size), -(-n // size)) and max(cells.shape[1:]) <= 64
        for head in (0, HEADS - 1):
            whole = np.zeros((cells.shape[1] * size,) * 2)
            whole[:n, :n] = by_hand(part, head)
            pooled = whole.reshape(cells.shape[1], size, cells.shape[2], size).max((1, 3))
            assert np.abs(cells[head].astype(int) - np.round(255 * np.sqrt(pooled))).max() <= 1


def test_thumbnail_of_cross_attention_is_pooled_on_each_side(monkeypatch):
    monkeypatch.setattr(heads, "ROWS", 8)
    attention_map = record([f"q{n}" for n in range(130)], Kind.CROSS, [f"k{n}" for n in range(300)])[Kind.CROSS]
    found, part = heads.overview(attention_map), attention_map.layers[0]
    whole = np.zeros((132, 300))
    whole[:130] = by_hand(part, 1)
    pooled = whole.reshape(44, 3, 60, 5).max((1, 3))
    assert found.pool == (3, 5) and found.cells[0].shape[1:] == (44, 60)
    assert np.abs(found.cells[0][1].astype(int) - np.round(255 * np.sqrt(pooled))).max() <= 1


def test_shares_among_heads_sum_to_one():
    part = layer()
    whole = np.stack([by_hand(part, head) for head in range(HEADS)])
    found = np.stack([heads.share_among_heads(part, head) for head in range(HEADS)])
    np.testing.assert_allclose(found, whole / whole.sum(0), atol=1e-5)
    np.testing.assert_allclose(found.sum(0), 1, atol=1e-6)
    assert np.abs(found.sum(-1) - 1).max() > 0.05


N = 139   # more than one block of rows


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_measures_equal_their_equations_on_the_whole_matrix(kind):
    attention_map = record(N, kind, special=(0, N - 1))[kind]
    found = measure(attention_map).frame().loc[(1, 3)]
    weights = heads.weights(attention_map.layer(1), 3).astype(float)
    i, j = np.ogrid[:N, :N]
    expected = {"previous": np.diagonal(weights, -1).mean(), "next": np.diagonal(weights, 1).mean(),
                "same": np.diagonal(weights).mean(),
                "first": weights[:, 0].mean(), "special": weights[:, [0, N - 1]].sum(1).mean(),
                "entropy": -np.where(weights > 0, weights * np.log2(np.maximum(weights, 1e-300)), 0).sum(1).mean(),
                "distance": (weights * abs(i - j)).sum(1).mean()}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-4, abs=1e-7), name


def test_single_token_looks_at_itself():
    found = measure(record(1)[Kind.SELF]).frame().loc[(1, 3)]
    assert found[["previous", "next", "same"]].tolist() == [0, 0, 1]


def test_cells_that_a_mask_allows_are_those_of_a_head_or_of_any_head():
    cells = np.random.default_rng(3).random((HEADS, 6, 7)) < 0.4
    rows, keys = slice(1, 5), slice(2, 7)
    assert (heads.allowed_cells(Dense(cells), rows, keys) == cells[:, rows, keys].any(0)).all()
    assert (heads.allowed_cells(Dense(cells), rows, keys, 1) == cells[1, rows, keys]).all()
    assert (heads.allowed_cells(Dense(cells[0]), rows, keys, 1) == cells[0, rows, keys]).all()


def test_uniform_baseline_follows_the_mask():
    found = measure(record(N, Kind.CAUSAL)[Kind.CAUSAL]).uniform_frame()
    allowed = np.arange(1, N + 1)
    assert found["entropy"][(0, 0)] == pytest.approx(np.log2(allowed).mean(), rel=1e-5)
    assert found["same"][(0, 0)] == pytest.approx((1 / allowed).mean(), rel=1e-5)
    full = measure(record(N)[Kind.SELF]).uniform_frame()
    assert full["previous"][(1, 5)] == pytest.approx(1 / N, rel=1e-5)
    assert full["entropy"][(0, 0)] == pytest.approx(np.log2(N), rel=1e-5)


FOUR = [(0, 0), (0, 1), (3, 0), (3, 1)]


@given(st.lists(st.floats(), min_size=4, max_size=4))
def test_file_equals_that_of_pythons_writer(numbers):
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["layer", "head", "number"])
    for name, number in zip(FOUR, numbers, strict=True):
        writer.writerow([*name, "" if math.isnan(number) else repr(number)])
    assert as_csv(head_frame(FOUR, {"number": np.array(numbers)})) == text.getvalue().encode("utf-8-sig")


def test_ties_keep_the_models_order():
    numbers = np.array([1.0, 2.0, np.nan, 2.0])
    frame = head_frame(FOUR, {"number": numbers})
    assert by_head(FOUR, numbers) == {(0, 0): 1.0, (0, 1): 2.0, (3, 1): 2.0}
    assert all(type(number) is int for head in frame.index for number in head)   # as links and messages hold them
