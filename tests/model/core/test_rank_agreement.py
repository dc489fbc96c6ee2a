"""Rank correlation, chance and intervals against scipy and against what a table says."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from model.core import rank_agreement

NUMBERS = st.lists(st.tuples(st.integers(-4, 4), st.floats(-10, 10, width=16)), min_size=5, max_size=30)


@given(NUMBERS)
def test_spearman_is_scipys_with_ties(pairs):
    one, other = np.array(pairs, float).T
    found = rank_agreement.spearman(one, other)
    if len(set(one)) > 1 and len(set(other)) > 1:
        assert found == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-9)
    else:
        assert np.isnan(found)


def test_four_tokens_have_no_rank_correlation():
    assert np.isnan(rank_agreement.spearman(np.arange(4), np.arange(4))) and rank_agreement.spearman(np.arange(5), np.arange(5)) == 1


@pytest.mark.parametrize(("count", "critical"), [(6, 0.886), (8, 0.738), (10, 0.648), (20, 0.447)])
def test_chance_is_the_critical_value_of_the_tables(count, critical):
    """Two-sided, 5 %: Zar 1972, table 1."""
    assert rank_agreement.chance(count) == pytest.approx(critical, abs=0.03)


def test_the_interval_of_a_mean_is_scipys_and_groups_widen_it():
    rng = np.random.default_rng(3)
    values = rng.normal(0.4, 0.2, 60)
    found, = rank_agreement.means(values[:, None])
    other = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=rng).confidence_interval
    assert found.value == pytest.approx(values.mean()) and found.texts == 60
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.01)
    alike, = rank_agreement.means(np.repeat(values[:12], 5)[:, None], np.repeat(np.arange(12), 5))
    apart, = rank_agreement.means(np.repeat(values[:12], 5)[:, None])
    assert alike.high - alike.low > 1.5 * (apart.high - apart.low)


def test_texts_without_a_number_are_left_out_and_a_column_of_none_is_said():
    values = np.array([[0.5, np.nan], [np.nan, np.nan], [0.7, np.nan]])
    first, second = rank_agreement.means(values)
    assert (first.value, first.texts) == (pytest.approx(0.6), 2) and 0.5 <= first.low <= first.high <= 0.7
    assert np.isnan(second.value) and second.texts == 0
