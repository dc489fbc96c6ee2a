"""Softmax, entropy and slope against scipy, torch and closed forms."""
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from model.lessons import softmax

LOGITS = st.lists(st.floats(-10, 10), min_size=2, max_size=11).map(np.array)
TEMPERATURES = st.floats(0.01, 100)


@given(LOGITS, TEMPERATURES)
def test_weights_are_scipys(logits, temperature):
    assert softmax.softmax_rows(logits, [temperature])[0] == pytest.approx(special.softmax(logits / temperature),
                                                                           abs=1e-12)


def test_a_masked_key_gets_nothing_and_the_rest_is_the_softmax_of_the_rest():
    logits, allowed = np.array([3.0, 9.0, -1.0, 0.5, 3.0]), np.array([True, False, True, True, True])
    row = softmax.softmax_rows(logits, [0.7], allowed)[0]
    assert row[1] == 0 and row[allowed] == pytest.approx(special.softmax(logits[allowed] / 0.7), abs=1e-15)


@pytest.mark.parametrize("m", [1, 2, 7])
def test_an_even_spread_over_m_tokens_is_worth_m(m):
    assert softmax.effective_tokens(np.array([1 / m] * m + [0.0] * 3)) == pytest.approx(m, abs=1e-12)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 17.0])
def test_the_jacobian_is_autograds(temperature):
    logits = torch.tensor([2.0, 1.0, 0.3, -1.0, 2.0], dtype=torch.float64)
    row = softmax.softmax_rows(logits.numpy(), [temperature])[0]
    wanted = torch.autograd.functional.jacobian(lambda z: torch.softmax(z / temperature, 0), logits).numpy()
    found = softmax.jacobian(row, temperature)
    assert found == pytest.approx(wanted, abs=1e-14) and found.sum(0) == pytest.approx(0, abs=1e-15)
    assert softmax.jacobian_norm(row, temperature) == pytest.approx(np.linalg.norm(wanted), rel=1e-12)


def test_the_norm_is_right_where_it_is_tiny():
    """Two keys: the norm is 2 p (1 − p) / T with p = 1 / (1 + e^(gap/T)); 1 − 1 would give 0 here."""
    other = 1 / (1 + np.exp(45.0))
    row = softmax.softmax_rows([4.5, 0.0], [0.1])[0]
    assert softmax.jacobian_norm(row, 0.1) == pytest.approx(2 * other * (1 - other) / 0.1, rel=1e-9, abs=0)


def test_the_norm_is_right_where_two_small_weights_meet_a_large_one():
    """Against the whole matrix in exact fractions, which cancels nothing."""
    weights = [Fraction(1) - Fraction(1, 10**30) - Fraction(1, 10**31), Fraction(1, 10**30), Fraction(1, 10**31)]
    square = sum((p * ((i == j) - q)) ** 2 for i, p in enumerate(weights) for j, q in enumerate(weights))
    norm = softmax.jacobian_norm(np.array([float(p) for p in weights]), 1.0)
    assert norm == pytest.approx(float(square * 10**60) ** 0.5 / 1e30, rel=1e-12, abs=0)


def test_the_slope_vanishes_at_both_ends_unless_the_largest_tie():
    ends = np.array([0.01, 100.0])
    free, tied = np.array([2.0, 1.0, 0.0]), np.array([2.0, 2.0, 0.0])
    norms = softmax.jacobian_norm(softmax.softmax_rows(free, ends), ends)
    assert norms[0] < 1e-20 and norms[1] < 0.01
    tie = softmax.jacobian_norm(softmax.softmax_rows(tied, ends), ends)
    assert tie[0] == pytest.approx(0.5 / 0.01, rel=1e-9)   # ‖diag(½,½) − ¼‖ = ½, divided by T


@pytest.mark.parametrize("logits", [[3.0, 1.0, 3.0, -2.0], [0.0, 0.0, 0.0], [1e4, -1e4, 9e3]])
def test_no_overflow_at_either_end_and_the_limits_are_reached(logits):
    allowed = np.ones(len(logits), bool)
    cold, hot = softmax.limits(logits, allowed)
    rows = softmax.softmax_rows(logits, [1e-6, 1e9])
    assert np.isfinite(rows).all() and rows[0] == pytest.approx(cold, abs=1e-12)
    assert rows[1] == pytest.approx(hot, abs=1e-4)


def test_the_formula_as_written_overflows_where_ours_does_not():
    assert np.isnan(softmax.naive_softmax([10.0, 0.0], 0.1, np.float32)).any()      # e^100 is beyond float32
    assert softmax.naive_softmax([10.0, 0.0], 0.1, np.float64) == pytest.approx(special.softmax([100.0, 0.0]))
    assert np.isnan(softmax.naive_softmax([10.0, 0.0], 0.01, np.float64)).any()     # e^1000 is beyond float64
    assert softmax.softmax_rows([10.0, 0.0], [0.01])[0] == pytest.approx([1.0, 0.0])
