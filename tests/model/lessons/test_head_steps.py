"""The steps through a head compared with the record, torch and scipy."""
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Dense, Relative, SlidingWindow
from clearhead.model.lessons import head_steps
from tests.fabricate import HEADS, KEYS, QUERIES, layer

RNG = np.random.default_rng(5)
VARIANTS = {
    "plain": {}, "causal": {"allowed": Causal()}, "window": {"allowed": SlidingWindow(2, 1)},
    "softcap": {"softcap": 2.5},
    "relative": {"bias": Relative(RNG.normal(size=(HEADS, QUERIES + KEYS - 1)).astype(np.float32), QUERIES)},
    "dense": {"bias": Dense(RNG.normal(size=(HEADS, QUERIES, KEYS)).astype(np.float32))},
    "mask by head": {"allowed": Dense((RNG.random((HEADS, QUERIES, KEYS)) < 0.7) | (np.arange(KEYS) == 0))},
    "sink": {"sink": RNG.normal(size=HEADS).astype(np.float32)},
    "temperature": {"temperature": np.linspace(0.4, 3, HEADS).astype(np.float32)},
    "sink and temperature": {"sink": np.ones(HEADS, np.float32), "temperature": np.full(HEADS, 0.5, np.float32)}}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_equals_the_records_numbers(variant):
    made = layer(**VARIANTS[variant])
    for head in range(HEADS):
        weights, scores = heads.weights(made, head), heads.scores(made, head)
        outputs = made.head_outputs(np.arange(QUERIES))[head]
        for token in range(QUERIES):
            found = head_steps.head_steps(made, head, token)
            assert found.weights == pytest.approx(weights[token], abs=2e-6)
            assert found.mixed == pytest.approx(outputs[token], abs=1e-5)
            assert found.weights.sum() + found.sink == pytest.approx(1, abs=1e-12)
            temperature = 1 if made.temperature is None else made.temperature[head]
            assert (found.logits
                    * temperature)[found.allowed] == pytest.approx(scores[token][found.allowed], rel=1e-5, abs=1e-5)


@given(st.integers(1, 14), st.integers(0, 10))
def test_ranked_products_sum_to_the_dot_product(keep, seed):
    products = np.random.default_rng(seed).normal(size=13)
    pairs = ((0, 5), (1, 6), (2, 7))
    for used in ((), pairs):
        found = head_steps.ranked_products(products, keep, used)
        assert sum(value for _, value in found) == pytest.approx(products.sum(), abs=1e-12)
        sizes = [abs(value) for _, value in found[:keep]]
        assert sizes == sorted(sizes, reverse=True) and len(found) <= keep + 1
    assert ("1+6", pytest.approx(products[1] + products[6])) in [(name, value)
                                                                 for name, value in head_steps.ranked_products(
                                                                     products, 13, pairs)]


def test_angles_equal_torch_and_are_exact_at_the_ends():
    one, other = RNG.normal(size=(2, 11))
    cosine = torch.nn.functional.cosine_similarity(torch.tensor(one), torch.tensor(other), dim=0)
    assert head_steps.angle(one, other) == pytest.approx(float(torch.rad2deg(torch.acos(cosine))), abs=1e-9)
    assert head_steps.angle(one, 3 * one) == pytest.approx(0, abs=1e-6)
    assert head_steps.angle(one, -one) == pytest.approx(180, abs=1e-6)


def test_hull_of_one_and_two_points():
    assert list(head_steps.hull(np.array([[1.0, 2.0]]))) == [0]
    assert set(head_steps.hull(np.array([[0.0, 0], [1, 1]]))) == {0, 1}
    assert set(head_steps.hull(np.array([[1.0, 1], [0, 0], [2, 2]]))) == {1, 2}


def test_output_projection_is_a_sum_over_heads():
    mixed, w_output = RNG.normal(size=(6, 13)), RNG.normal(size=(6, 13, 17))
    linear = torch.nn.functional.linear(torch.tensor(mixed).flatten(), torch.tensor(w_output).reshape(-1, 17).T)
    assert head_steps.hand_over(mixed, w_output).sum(0) == pytest.approx(linear.numpy(), abs=1e-12)
