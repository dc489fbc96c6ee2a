"""Statistics compared with scipy, torch, tables, and data with a known truth."""
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.spatial.distance import jensenshannon

from clearhead.model.core import statistics
from clearhead.model.core.traces import Unembedding

LOGITS = st.lists(st.floats(-1000, 1000), min_size=2, max_size=11).map(np.array)
NUMBERS = st.lists(st.tuples(st.integers(-4, 4), st.floats(-10, 10, width=16)), min_size=4, max_size=30)
RNG = np.random.default_rng(7)


def test_change_is_relative_to_the_length_before():
    changes = statistics.relative_changes(np.float32([[[3, 4], [0, 2]]]), np.float32([[[3, 4], [0, 5]]]))
    assert changes.tolist() == [[0, 1.5]]


def test_parts_of_a_capped_logit_keep_its_ratio():
    """The parts add up to the logits without their bias, each times capped by uncapped logit."""
    weight, bias, parts = RNG.normal(size=(5, 3)), RNG.normal(size=5), RNG.normal(size=(4, 3))
    parts[:, 0] = 0
    x = parts.sum(0)
    unembedding = Unembedding(weight.astype(np.float32), bias.astype(np.float32), 0.5, 2.0)
    raw = weight @ x * 0.5 + bias
    assert unembedding.logits(x) == pytest.approx(2 * np.tanh(raw / 2), abs=1e-6)
    found = unembedding.shares(parts, x)
    assert found == pytest.approx(parts @ weight.T * 0.5 * (2 * np.tanh(raw / 2) / raw), abs=1e-6)
    assert Unembedding(weight.astype(np.float32), None).shares(parts, x) == pytest.approx(parts @ weight.T, abs=1e-6)


@given(LOGITS)
def test_entropy_equals_scipy_and_is_bounded(logits):
    row = special.softmax(logits)
    for base in (2, math.e):
        assert statistics.entropy(row, base=base) == pytest.approx(stats.entropy(row, base=base), abs=1e-10)
        assert 0 <= statistics.entropy(row, base=base) <= math.log(len(row), base) + 1e-12


def test_divergence_equals_scipy_squared_in_bits():
    p, q = RNG.dirichlet(np.ones(9), 40), RNG.dirichlet(np.full(9, 0.2), 40)
    np.testing.assert_allclose(statistics.jensen_shannon(p, q), jensenshannon(p, q, base=2, axis=-1) ** 2, atol=1e-12)
    assert statistics.jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1
    assert statistics.jensen_shannon(p, p).max() == 0


def test_cosines_equal_torch():
    one, other = RNG.standard_normal((3, 5)), RNG.standard_normal((4, 5))
    wanted = torch.nn.functional.cosine_similarity(torch.tensor(one)[:, None], torch.tensor(other)[None],
                                                   dim=-1).numpy()
    assert statistics.cosines(one, other) == pytest.approx(wanted, abs=1e-12)
    assert statistics.cosines(np.zeros((1, 5)), other) == pytest.approx(np.zeros((1, 4)))
    assert statistics.cosine(one[2], other[3]) == pytest.approx(wanted[2, 3], abs=1e-12)
    assert statistics.cosine(one[0], -one[0]) == pytest.approx(-1)


@given(NUMBERS)
def test_spearman_equals_scipy_with_ties(pairs):
    one, other = np.array(pairs, float).T
    found = statistics.spearman(one, other)
    if len(set(one)) > 1 and len(set(other)) > 1:
        assert found == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-9)
    else:
        assert np.isnan(found)


@pytest.mark.parametrize(("count", "critical"), [
    (5, 1.0), (6, 0.886), (7, 0.786), (8, 0.738), (10, 0.648), (20, 0.447)])
def test_critical_value_equals_published_tables(count, critical):
    """Two-sided, 5%: Zar 1972, table 1."""
    few = count <= statistics.EXACT
    assert statistics.critical_rho(count) == pytest.approx(critical, abs=0.0005 if few else 0.03)


@pytest.mark.parametrize("count", range(5))
def test_no_value_is_critical_for_fewer_than_five(count):
    orders = [*itertools.permutations(range(count))]
    alike = sum(order in (orders[0], orders[-1]) for order in orders) / len(orders)   # |ρ| = 1
    assert statistics.critical_rho(count) == math.inf and alike > 0.05


FEW = np.repeat(np.arange(7), 40)   # the groups of 280 texts


def test_fewer_than_eight_units_give_no_interval_and_no_p():
    correct = RNG.integers(0, 2, (len(FEW), 3)).astype(float)
    mean, accuracy = statistics.mean_intervals(correct, FEW)[0], statistics.accuracy_intervals(correct, FEW)[0]
    ratio, luck = statistics.ratio_interval(np.ones(7), np.ones(7)), statistics.max_statistic_null(correct, FEW)
    assert mean.units == accuracy.units == 7 and mean.value == pytest.approx(accuracy.value)
    assert np.isnan([mean.low, mean.high, accuracy.low, accuracy.high, *ratio]).all()
    assert luck.best == correct.mean(0).max() and np.isnan([luck.mean, luck.high, luck.p_value]).all()
    assert statistics.too_few(7, "frames") and not statistics.too_few(8, "frames")
    more = np.append(FEW, 7)
    assert np.isfinite(statistics.accuracy_intervals(np.ones((281, 1)), more)[0].low)
    assert np.isfinite(statistics.max_statistic_null(np.ones((281, 1)), more).p_value)


def test_column_without_values_in_most_units_has_no_interval():
    values = np.where(np.arange(20) < 7, 1.0, np.nan)[:, None]
    found, = statistics.mean_intervals(values)
    assert (found.value, found.texts, found.units) == (1, 7, 7) and np.isnan(found.low)


def test_interval_of_a_mean_equals_scipy():
    rng = np.random.default_rng(3)
    values = rng.normal(0.4, 0.2, 60)
    found, = statistics.mean_intervals(values[:, None])
    other = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=rng).confidence_interval
    assert found.value == pytest.approx(values.mean()) and found.texts == 60
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.01)
    alike, = statistics.mean_intervals(np.repeat(values[:12], 5)[:, None], np.repeat(np.arange(12), 5))
    apart, = statistics.mean_intervals(np.repeat(values[:12], 5)[:, None])
    assert alike.high - alike.low > 1.5 * (apart.high - apart.low)


def test_interval_of_a_share_is_widened_for_few_groups():
    values = np.clip(np.random.default_rng(3).normal(0.5, 0.1, 8), 0, 1)
    ours, = statistics.accuracy_intervals(values[:, None], np.arange(8), draws=200_000)
    # 2.3646 is t for 7 degrees of freedom (any table), times √(8 / 7)
    level = 1 - 2 * stats.norm.sf(2.3646 * (8 / 7)**0.5)
    other = stats.bootstrap((values,), np.mean, n_resamples=200_000, confidence_level=level, method="percentile",
                            rng=np.random.default_rng(4)).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((other.low, other.high), abs=0.001)


def test_all_right_has_the_exact_bound():
    frames = np.repeat(np.arange(22), 2) % 11
    ours = statistics.accuracy_intervals(np.ones((44, 1)), frames)[0]
    exact = stats.binomtest(11, 11).proportion_ci(0.95, method="exact")
    assert (ours.low, ours.high) == pytest.approx((exact.low, exact.high))


def test_null_is_the_exact_distribution_of_all_swaps():
    """For nine pairs, all 512 ways to swap can be enumerated."""
    correct = np.random.default_rng(5).integers(0, 2, (18, 4)).astype(float)   # which cases each head gets right
    every = []
    for swaps in itertools.product((False, True), repeat=9):
        swapped = np.where(np.repeat(swaps, 2)[:, None], 1 - correct, correct)
        every.append(swapped.mean(0).max())
    luck = statistics.max_statistic_null(correct, np.repeat(np.arange(9), 2), draws=20_000)
    assert luck.mean == pytest.approx(np.mean(every), abs=0.003)
    assert luck.p_value == pytest.approx(np.mean(np.array(every) >= correct.mean(0).max() - 1e-12), abs=0.02)


def test_rank_correlations_equal_scipy():
    first, second = RNG.integers(0, 5, (3, 9)), RNG.standard_normal((2, 9))
    wanted = [[stats.spearmanr(one, other).statistic for other in second] for one in first]
    assert statistics.rank_correlations(first, second) == pytest.approx(np.array(wanted), abs=1e-12)
