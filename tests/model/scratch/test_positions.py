"""The position schemes against closed forms."""
import math

import pytest
import torch

from model.scratch import transformer


def test_sinusoidal_equals_the_papers_formula():
    table = transformer.sinusoidal(11, 7)
    for t in range(11):
        for i in range(7):
            angle = t / 10000 ** (2 * (i // 2) / 7)
            assert table[t, i] == pytest.approx(math.sin(angle) if i % 2 == 0 else math.cos(angle), abs=1e-6)


def test_rotary_scores_depend_on_the_distance_only():
    torch.manual_seed(5)
    query, key = (torch.randn(6, dtype=torch.float64) for _ in range(2))
    turned_q, turned_k = (transformer.rotate(vector.expand(13, 6)) for vector in (query, key))
    scores = turned_q @ turned_k.T
    for distance in range(-12, 13):
        line = scores.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), atol=1e-12, rtol=0)
    assert scores[0, 0] == pytest.approx(float(query @ key)) and scores[3, 0] != pytest.approx(float(scores[0, 3]))


def test_rotary_turns_each_pair_by_its_angle():
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(3, 4)
    t2 = transformer.rotate(x)[2]
    torch.testing.assert_close(t2, torch.tensor([math.cos(2), math.sin(2), math.cos(0.02), math.sin(0.02)]))


def test_alibi_is_a_fall_with_distance_that_halves_from_head_to_head():
    torch.testing.assert_close(transformer.slopes(8),
                               torch.tensor([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]))
    bias = transformer.distance_bias(3, 5, 7)
    assert bias.shape == (3, 5, 7)
    assert bias[1, 4, 1] == pytest.approx(-3 * 2 ** (-16 / 3)) and bias[2, 2, 2] == 0


def test_a_learned_table_is_added_and_trained():
    scheme = transformer.Learned(6, 11)
    x = torch.zeros(2, 5, 6)
    torch.testing.assert_close(scheme(x)[1], scheme.table[:5])
    assert scheme.table.requires_grad
