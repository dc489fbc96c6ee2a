"""Sparse patterns against closed forms, scipy's shortest paths and the record's own masks."""
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from model.core import heads
from model.core.masks import Window
from model.core.query import Kind
from model.lessons import masking
from model.lessons.masking import Shape
from tests.fabricate import record

N = 29
SHAPE = Shape(window=3, dilation=2, tokens=2, random=3, seed=5)


def test_the_window_is_the_records_window_and_has_its_closed_share():
    found = masking.window(N, SHAPE)
    assert (found == Window(3, 3).block(slice(0, N), slice(0, N))).all()
    assert found.mean() == pytest.approx((N * 7 - 3 * 4) / N**2)


def test_global_tokens_have_their_closed_share():
    assert masking.global_tokens(N, SHAPE).mean() == pytest.approx((2 * 2 * N - 2 * 2 + N - 2) / N**2)


def test_a_dilated_window_reaches_as_far_as_it_says():
    found = masking.dilated_window(N, SHAPE)
    assert np.flatnonzero(found[14]).tolist() == [8, 10, 12, 14, 16, 18, 20]


def test_random_rows_hold_their_own_token_and_as_many_as_asked():
    sums = masking.random_keys(N, SHAPE).sum(1)
    assert set(sums) <= {3, 4} and masking.random_keys(N, SHAPE).diagonal().all()
    assert (masking.random_keys(N, SHAPE) == masking.random_keys(N, SHAPE)).all()


@pytest.mark.parametrize("name", masking.NAMES)
@pytest.mark.parametrize("causal", [False, True])
def test_layers_needed_is_the_longest_shortest_path(name, causal):
    """A layer is one step from key to query, so the answer is the diameter of the graph (scipy, Dijkstra)."""
    allowed = masking.pattern(name, N, SHAPE, causal)
    steps = shortest_path(allowed.astype(float), unweighted=True)
    wanted = np.tril(np.ones((N, N), bool)) if causal else np.ones((N, N), bool)
    shares = masking.reach(allowed, causal)
    longest = steps[wanted].max()
    assert masking.layers_needed(shares) == (None if np.isinf(longest) else max(1, int(longest)))
    for layers, share in enumerate(shares, 1):
        assert share == pytest.approx((steps[wanted] <= layers).mean())


def test_known_answers():
    assert masking.layers_needed(masking.reach(masking.pattern("full", N, SHAPE))) == 1
    assert masking.layers_needed(masking.reach(masking.pattern("window", N, SHAPE))) == -(-(N - 1) // 3)
    assert masking.layers_needed(masking.reach(masking.pattern("global", N, SHAPE))) == 2
    # even and odd tokens never meet
    assert masking.layers_needed(masking.reach(masking.pattern("dilated", N, SHAPE))) is None


def test_lost_weight_is_what_lies_outside():
    answer = record(11)
    allowed = masking.pattern("window", 11, SHAPE)
    found = masking.lost_weight(answer[Kind.SELF], allowed)
    layer = answer[Kind.SELF].layers[1]
    for head in (0, 5):
        weights = heads.weights(layer, head).astype(float)
        assert found[1, head] == pytest.approx(weights[~allowed].sum() / 11, abs=1e-6)
    assert max(masking.lost_weight(answer[Kind.SELF],
                                        np.ones((11, 11), bool)).values()) == pytest.approx(0, abs=1e-9)
