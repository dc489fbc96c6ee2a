import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from model.core.ranks import spearman


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=20).filter(
    lambda pairs: all(len({pair[side] for pair in pairs}) > 1 for side in (0, 1))))
def test_spearman_is_scipys_with_ties(pairs):
    a, b = np.array(pairs, float).T
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-9)


def test_a_side_that_does_not_vary_has_no_rank():
    assert np.isnan(spearman(np.ones(5), np.arange(5.0)))
