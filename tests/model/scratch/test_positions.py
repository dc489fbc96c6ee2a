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
