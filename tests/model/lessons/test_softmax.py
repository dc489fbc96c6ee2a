"""The softmax of one row compared with scipy and closed forms, and the change of an answer."""
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special
from scipy.spatial import distance

from clearhead.model.core.record import Prediction
from clearhead.model.lessons import softmax

LOGITS = st.lists(st.floats(-10, 10), min_size=2, max_size=11).map(np.array)
TEMPERATURES = st.floats(0.01, 100)


@given(LOGITS, TEMPERATURES)
@example(np.array([1e4, -1e4, 9e3]), 1e-6)
@example(np.array([3.0, 1.0, 3.0, -2.0]), 1e9)
def test_weights_equal_scipy(logits, temperature):
    assert softmax.softmax_rows(logits, [temperature])[0] == pytest.approx(special.softmax(logits / temperature),
                                                                           abs=1e-12)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 17.0])
def test_jacobian_equals_autograd(temperature):
    logits = torch.tensor([2.0, 1.0, 0.3, -1.0, 2.0], dtype=torch.float64)
    row = softmax.softmax_rows(logits.numpy(), [temperature])[0]
    wanted = torch.autograd.functional.jacobian(lambda z: torch.softmax(z / temperature, 0), logits).numpy()
    found = softmax.jacobian(row, temperature)
    assert found == pytest.approx(wanted, abs=1e-14) and found.sum(0) == pytest.approx(0, abs=1e-15)
    assert softmax.jacobian_norm(row, temperature) == pytest.approx(np.linalg.norm(wanted), rel=1e-12)


def test_norm_of_small_weights_is_exact():
    """Against the whole matrix in exact fractions, which cancels nothing."""
    weights = [Fraction(1) - Fraction(1, 10**30) - Fraction(1, 10**31), Fraction(1, 10**30), Fraction(1, 10**31)]
    square = sum((p * ((i == j) - q)) ** 2 for i, p in enumerate(weights) for j, q in enumerate(weights))
    norm = softmax.jacobian_norm(np.array([float(p) for p in weights]), 1.0)
    assert norm == pytest.approx(float(square * 10**60) ** 0.5 / 1e30, rel=1e-12, abs=0)


def test_change_of_the_answer():
    one, other = np.random.default_rng(5).normal(size=(2, 13)).astype(np.float32)
    vectors = [Prediction("vector", vector=each) for each in (one, other)]
    assert softmax.answer_change(*vectors) == ("vector",
                                                    pytest.approx(
                                                        distance.cosine(one.astype(float), other.astype(float)),
                                                        abs=1e-12))
    before = Prediction("next", (0, 1), ((5, 6), (7, 8)), (("a", "b"), ("c", "d")), ((0.9, 0.1), (0.6, 0.3)))
    after = replace(before, ids=((5, 6), (8, 7)), probabilities=((0.9, 0.1), (0.5, 0.25)))
    assert softmax.answer_change(before, after) == ("probability", pytest.approx(0.25 - 0.6))
    assert softmax.answer_change(before, replace(after, ids=((5, 6), (8, 9))))[0] == "none"
    assert softmax.answer_change(None, after)[0] == "none"


def test_formula_as_written_overflows():
    assert np.isnan(softmax.naive_softmax([10.0, 0.0], 0.1, np.float32)).any()      # e^100 is beyond float32
    assert softmax.naive_softmax([10.0, 0.0], 0.1, np.float64) == pytest.approx(special.softmax([100.0, 0.0]))
    assert np.isnan(softmax.naive_softmax([10.0, 0.0], 0.01, np.float64)).any()     # e^1000 is beyond float64
    assert softmax.softmax_rows([10.0, 0.0], [0.01])[0] == pytest.approx([1.0, 0.0])
