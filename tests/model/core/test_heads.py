import numpy as np
import pytest
import torch

from model.core import heads
from model.core.masks import Relative, Window
from model.core.query import Kind
from model.core.record import AttentionMap
from tests.fabricate import HEADS, KEYS, KV_HEADS, QUERIES, layer, record, tokens
from tests.model.only import head_outputs


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
PARTS = [{}, {"softcap": 1.3}, {"bias": BIAS}, {"allowed": Window(2, 5)},
         {"sink": np.linspace(-1, 2, HEADS, dtype=np.float32)},
         {"temperature": np.linspace(0.3, 4, HEADS, dtype=np.float32), "sink": np.ones(HEADS, np.float32)}]


@pytest.mark.parametrize("changes", PARTS, ids=lambda changes: "+".join(changes) or "plain")
def test_weights_equal_the_formula_by_hand_for_every_head_and_in_every_way_of_asking(changes):
    part = layer(**changes)
    expected = np.stack([by_hand(part, head) for head in range(HEADS)])
    assert np.allclose([heads.weights(part, head) for head in range(HEADS)], expected, atol=1e-6)
    assert np.allclose(np.stack([heads.row_weights(part, query) for query in range(QUERIES)], 1), expected, atol=1e-6)
    blocks = np.zeros_like(expected)
    for rows, keys, block in heads.weight_blocks(part, size=3):
        blocks[:, rows, keys] = block
    assert np.allclose(blocks, expected, atol=1e-6)


def test_head_outputs_equal_torchs_fused_kernel():
    part = layer()
    q, k, v = (torch.tensor(np.array(each))[None] for each in (part.query, part.key, part.value))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=part.scale, enable_gqa=True)[0]
    assert np.allclose(head_outputs(part, np.array([0, 3, 6])), expected[:, [0, 3, 6]].numpy(), atol=1e-6)


def test_ranking_is_by_weight_and_names_the_models_layers():
    each = AttentionMap(Kind.CROSS, tokens(QUERIES), tokens(KEYS), (layer(2), layer(5)))
    order = heads.rank_heads_for_pair(each, 3, 8)
    assert len(order) == 2 * HEADS
    assert [weight for *_, weight in order] == sorted((weight for *_, weight in order), reverse=True)
    for index, head, weight in order:
        assert weight == pytest.approx(by_hand(each.layer(index), head)[3, 8], abs=1e-6)


@pytest.mark.parametrize("n", [1, 7, 64, 65, 131, 300])
@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_a_thumbnail_is_the_largest_weight_of_each_pool_and_never_larger_than_64(n, kind):
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


def test_shares_among_heads_sum_to_one_in_every_cell_and_their_rows_do_not():
    part = layer()
    whole = np.stack([by_hand(part, head) for head in range(HEADS)])
    found = np.stack([heads.share_among_heads(part, head) for head in range(HEADS)])
    np.testing.assert_allclose(found, whole / whole.sum(0), atol=1e-5)
    np.testing.assert_allclose(found.sum(0), 1, atol=1e-6)
    assert np.abs(found.sum(-1) - 1).max() > 0.05
