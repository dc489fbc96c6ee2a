import numpy as np
import pytest

from model.core import heads
from model.core.heads import measure
from model.core.query import Kind
from model.core.record import AttentionMap
from tests.fabricate import HEADS, KEYS, QUERIES, layer, record, tokens

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


def test_the_uniform_baseline_is_uniform_over_what_the_mask_allows():
    found = measure(record(N, Kind.CAUSAL)[Kind.CAUSAL]).uniform_frame()
    allowed = np.arange(1, N + 1)
    assert found["entropy"][(0, 0)] == pytest.approx(np.log2(allowed).mean(), rel=1e-5)
    assert found["same"][(0, 0)] == pytest.approx((1 / allowed).mean(), rel=1e-5)
    full = measure(record(N)[Kind.SELF]).uniform_frame()
    assert full["previous"][(1, 5)] == pytest.approx(1 / N, rel=1e-5)
    assert full["entropy"][(0, 0)] == pytest.approx(np.log2(N), rel=1e-5)


def test_cross_attention_has_only_measures_that_mean_something_across_two_texts():
    found = measure(AttentionMap(Kind.CROSS, tokens(QUERIES), tokens(KEYS, special=(10,)), (layer(4),)))
    assert set(found.values) == {"first", "special", "entropy"} and len(found.values["first"]) == HEADS
    assert [value for *_, value in found.ranked("entropy")] == sorted(found.values["entropy"], reverse=True)
    assert found.by_head("first") == found.frame()["first"].to_dict()
