"""The online softmax against scipy, and attention in tiles against torch."""
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from model.lessons import cost

ROWS = st.lists(st.floats(-300, 300), min_size=1, max_size=20).map(np.array)


@given(ROWS, st.integers(1, 21))
def test_after_every_tile_sum_and_answer_are_those_of_what_was_read(scores, tile):
    values = np.random.default_rng(len(scores)).standard_normal((len(scores), 3))
    for step in cost.steps(scores, values, tile):
        read = slice(0, step.keys[1])
        assert step.m + np.log(step.l) == pytest.approx(special.logsumexp(scores[read]), abs=1e-9)
        assert step.answer == pytest.approx(special.softmax(scores[read]) @ values[read], abs=1e-9)
    assert step.keys[1] == len(scores)


def test_the_factor_corrects_only_when_something_larger_comes():
    values = np.ones((6, 1))
    assert [step.kept for step in cost.steps(np.array([3.0, 2, 1, 0, -1, -2]), values, 2)] == [0, 1, 1]
    assert [step.kept for step in cost.steps(np.array([0.0, 1, 2, 3, 4, 5]), values,
                                                       2)] == pytest.approx([0, np.exp(-2), np.exp(-2)])


@pytest.mark.parametrize("tile", [1, 7, 16, 100])
def test_attention_in_tiles_is_torchs(tile):
    query, key, value = np.random.default_rng(2).standard_normal((3, 50, 16))
    wanted = torch.nn.functional.scaled_dot_product_attention(*(torch.from_numpy(each)[None]
                                                                for each in (query, key, value)))[0].numpy()
    assert cost.tiled_attention(query, key, value, tile) == pytest.approx(wanted, abs=1e-12)


def test_the_agreement_that_the_page_shows_is_that_of_float32():
    found = cost.agreement(256, 32)
    assert 0 < found.tiled < 2e-6 and 0 <= found.fused < 2e-6

