"""Sparse patterns against closed forms, scipy's shortest paths and the record's own masks."""
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from model.core import heads
from model.core.masks import Window
from model.core.query import Kind
from model.lessons import sparse_masks
from model.lessons.sparse_masks import Shape
from tests.fabricate import record

N = 29
SHAPE = Shape(window=3, dilation=2, tokens=2, random=3, seed=5)


def test_the_window_is_the_records_window_and_has_its_closed_share():
    found = sparse_masks.window(N, SHAPE)
    assert (found == Window(3, 3).block(slice(0, N), slice(0, N))).all()
    assert sparse_masks.computed_share(found) == pytest.approx((N * 7 - 3 * 4) / N**2)


def test_global_tokens_have_their_closed_share():
    assert sparse_masks.computed_share(sparse_masks.global_tokens(N,
                                                                  SHAPE)) == pytest.approx(
                                                                      (2 * 2 * N - 2 * 2 + N - 2) / N**2)


def test_a_dilated_window_reaches_as_far_as_it_says():
    found = sparse_masks.dilated_window(N, SHAPE)
    assert np.flatnonzero(found[14]).tolist() == [8, 10, 12, 14, 16, 18, 20]


def test_random_rows_hold_their_own_token_and_as_many_as_asked():
    sums = sparse_masks.random_keys(N, SHAPE).sum(1)
    assert set(sums) <= {3, 4} and sparse_masks.random_keys(N, SHAPE).diagonal().all()
    assert (sparse_masks.random_keys(N, SHAPE) == sparse_masks.random_keys(N, SHAPE)).all()


@pytest.mark.parametrize("name", sparse_masks.NAMES)
@pytest.mark.parametrize("causal", [False, True])
def test_layers_needed_is_the_longest_shortest_path(name, causal):
    """A layer is one step from key to query, so the answer is the diameter of the graph (scipy, Dijkstra)."""
    allowed = sparse_masks.pattern(name, N, SHAPE, causal)
    steps = shortest_path(allowed.astype(float), unweighted=True)
    wanted = np.tril(np.ones((N, N), bool)) if causal else np.ones((N, N), bool)
    shares = sparse_masks.reach(allowed, causal)
    longest = steps[wanted].max()
    assert sparse_masks.layers_needed(shares) == (None if np.isinf(longest) else max(1, int(longest)))
    for layers, share in enumerate(shares, 1):
        assert share == pytest.approx((steps[wanted] <= layers).mean())


def test_known_answers():
    assert sparse_masks.layers_needed(sparse_masks.reach(sparse_masks.pattern("full", N, SHAPE))) == 1
    assert sparse_masks.layers_needed(sparse_masks.reach(sparse_masks.pattern("window", N, SHAPE))) == -(-(N - 1) // 3)
    assert sparse_masks.layers_needed(sparse_masks.reach(sparse_masks.pattern("global", N, SHAPE))) == 2
    # even and odd tokens never meet
    assert sparse_masks.layers_needed(sparse_masks.reach(sparse_masks.pattern("dilated", N, SHAPE))) is None


def test_lost_weight_is_what_lies_outside():
    answer = record(11)
    allowed = sparse_masks.pattern("window", 11, SHAPE)
    found = sparse_masks.lost_weight(answer[Kind.SELF], allowed)
    layer = answer[Kind.SELF].layers[1]
    for head in (0, 5):
        weights = heads.weights(layer, head).astype(float)
        assert found[1, head] == pytest.approx(weights[~allowed].sum() / 11, abs=1e-6)
    assert max(sparse_masks.lost_weight(answer[Kind.SELF],
                                        np.ones((11, 11), bool)).values()) == pytest.approx(0, abs=1e-9)
