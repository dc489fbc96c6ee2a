"""Position schemes compared with closed forms, our own Transformer, and transformers' T5."""
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.t5.modeling_t5 import T5Attention

from clearhead.model.core.statistics import cosines, relative_changes
from clearhead.model.lessons import positions
from clearhead.model.scratch import transformer as ours

WIDTHS = st.integers(1, 40).map(lambda half: 2 * half)


def test_strongest_wave_of_a_table_of_cosines():
    wanted = np.array([60.0, 15.0, 20 / 3, 2.0])
    waves = np.cos(2 * np.pi * np.arange(60)[:, None] / wanted)
    assert positions.strongest_wave(5 + waves + 0.4 * waves[:, ::-1]) == pytest.approx(wanted)


def test_rotary_scores_equal_our_model():
    query, key = np.random.default_rng(3).normal(size=(2, 10))
    square = positions.rotary_scores(query, key, 37)
    mean, low, high = positions.by_distance(square)
    assert high - low == pytest.approx(0, abs=1e-12) and np.ptp(mean) > 0.1
    turned = [ours.rotate(torch.tensor(each).expand(37, -1)) for each in (query, key)]
    assert square == pytest.approx((turned[0] @ turned[1].T).numpy(), abs=1e-12)
    assert np.linalg.norm(positions.rotate(query, np.array([17]))) == pytest.approx(np.linalg.norm(query), abs=1e-12)


def test_alibi_slopes_of_the_paper():
    assert positions.alibi_slopes(8) == pytest.approx([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
                                                      abs=0)
    assert positions.alibi_slopes(16)[0] == pytest.approx(2**-0.5)
    assert positions.alibi_slopes(5) == pytest.approx(ours.slopes(5).numpy())


@pytest.mark.parametrize(("both_ways", "buckets", "farthest"),
                         [(True, 32, 128), (False, 32, 128), (True, 16, 50), (False, 8, 20)])
def test_t5_buckets_equal_transformers(both_ways, buckets, farthest):
    offsets = np.arange(-500, 501)
    wanted = T5Attention._relative_position_bucket(torch.tensor(offsets), both_ways, buckets, farthest).numpy()
    assert (positions.t5_bucket(offsets, both_ways, buckets, farthest) == wanted).all()


@pytest.mark.parametrize("scheme", list(ours.POSITIONS))
def test_only_an_encoder_without_positions_is_equivariant(scheme):
    order = (3, 0, 4, 1, 2)
    moved = relative_changes(*positions.shuffle_outputs(order, scheme, causal=False))
    assert moved.max() < 1e-12 if scheme == "none" else moved.min() > 1e-3
    plain = positions.shuffle_outputs(tuple(range(5)), scheme, causal=True)
    assert relative_changes(*plain).max() == 0


@given(WIDTHS, st.integers(-20, 20))
def test_shift_matrix_looks_some_steps_away(width, steps):
    """PE(i) R(k) PE(j)ᵀ is PE(i + k) · PE(j): largest at j = i + k, which no comparison without a matrix can be."""
    table = positions.sinusoidal(np.arange(50), width)
    square = positions.compare_rows(table, positions.shift(steps, width))
    wanted = positions.sinusoidal(np.arange(50) + steps, width) @ table.T / (width / 2)
    assert square == pytest.approx(wanted, abs=1e-12)
    assert positions.compare_rows(table, np.eye(width)) == pytest.approx(cosines(table, table), abs=1e-12)
    if width > 2 and 20 <= 25 + steps < 50:
        assert square[25].argmax() == 25 + steps


def test_each_distance_has_the_mean_and_ends_of_its_cells():
    square, found = np.random.default_rng(2).random((5, 5)), []
    for distance in range(-4, 5):
        cells = [square[row, row + distance] for row in range(5) if 0 <= row + distance < 5]
        found.append([np.mean(cells), min(cells), max(cells)])
    assert np.transpose(positions.by_distance(square)) == pytest.approx(np.array(found))
