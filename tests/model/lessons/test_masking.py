"""Masks before and after the softmax compared with sums of exponentials, and sparse patterns with walks on a graph."""
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from clearhead.model.lessons import masking
from clearhead.model.lessons.masking import PatternShape

N = 7
SCORES = masking.toy_scores(N, 3)
ALLOWED = masking.look_ahead_mask(N) & masking.padding_mask(N, 2)


def test_large_negative_number_works_like_minus_infinity():
    assert masking.masked_weights(SCORES, ALLOWED,
                                  "finite") == pytest.approx(masking.masked_weights(SCORES, ALLOWED, "before"),
                                                             abs=1e-15)


def test_only_zeroing_leaks():
    moved = np.linspace(-3, 3, 5)
    for method in masking.METHODS:
        found = masking.leak(SCORES, ALLOWED, 2, moved, method)
        assert found.shape == (5, 3)
        assert (np.ptp(found, axis=0).max() > 0.01) == (method == "after")


LENGTH = 29
SHAPE = PatternShape(window=3, dilation=2, tokens=2, random=3, seed=5)


def test_random_rows_have_their_own_token():
    sums = masking.random_keys(LENGTH, SHAPE).sum(1)
    assert set(sums) <= {3, 4} and masking.random_keys(LENGTH, SHAPE).diagonal().all()
    assert (masking.random_keys(LENGTH, SHAPE) == masking.random_keys(LENGTH, SHAPE)).all()


@pytest.mark.parametrize("name", masking.NAMES)
@pytest.mark.parametrize("causal", [False, True])
def test_layers_needed_is_the_longest_shortest_path(name, causal):
    """A layer is one step from key to query, so the answer is the diameter of the graph (scipy, Dijkstra)."""
    allowed = masking.pattern(name, LENGTH, SHAPE, causal)
    steps = shortest_path(allowed.astype(float), unweighted=True)
    wanted = np.tril(np.ones((LENGTH, LENGTH), bool)) if causal else np.ones((LENGTH, LENGTH), bool)
    shares = masking.reach(allowed, causal)
    longest = steps[wanted].max()
    assert masking.layers_needed(shares) == (None if np.isinf(longest) else max(1, int(longest)))
    for layers, share in enumerate(shares, 1):
        assert share == pytest.approx((steps[wanted] <= layers).mean())


def test_blind_row_is_nan_or_uniform():
    found = masking.blind_row(5)
    assert (found["before"], found["after"], found["renormalised"],
            found["torch.softmax"]) == ("NaN", "0", "NaN", "NaN")
    assert found["finite"].startswith("uniform")
    assert found["scaled_dot_product_attention"] in ("0", "NaN")   # 0 in current torch, NaN in older ones


def test_global_tokens_have_their_closed_share():
    wanted = (2 * 2 * LENGTH - 2 * 2 + LENGTH - 2) / LENGTH**2
    assert masking.global_tokens(LENGTH, SHAPE).mean() == pytest.approx(wanted)


def test_dilated_window():
    found = masking.dilated_window(LENGTH, SHAPE)
    assert np.flatnonzero(found[14]).tolist() == [8, 10, 12, 14, 16, 18, 20]
