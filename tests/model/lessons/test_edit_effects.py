"""What an edit changed, against scipy's distances, torch's softmax and closed forms."""
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial import distance

from model.core.query import Kind
from model.core.record import Prediction
from model.lessons import softmax
from tests.fabricate import D_K, HEADS, record

N = 139   # more than one block of rows


def tempered(before, head: int, temperature: float):
    """The record with one head of layer 1 at another temperature."""
    (of_kind,), temperatures = before.maps, np.ones(HEADS, np.float32)
    temperatures[head] = temperature
    return replace(before,
                   maps=(replace(of_kind,
                                 layers=(of_kind.layers[0], replace(of_kind.layers[1], temperature=temperatures))),))


def test_a_row_change_is_half_of_scipys_city_block_and_runs_from_0_to_1():
    one, other = np.random.default_rng(3).dirichlet(np.ones(7), size=(2, 11)).astype(np.float32)
    assert softmax.row_change(one, other) == pytest.approx([distance.cityblock(a, b) / 2
                                                                 for a, b in zip(one, other, strict=True)], abs=1e-6)
    assert softmax.row_change(np.eye(2)[0], np.eye(2)[1]) == 1 and softmax.row_change(one, one).max() == 0


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_a_tempered_head_changes_as_torchs_softmax_says_and_no_other(kind):
    before = record(N, kind)
    found = softmax.head_changes(before, tempered(before, 4, 2.5), kind)
    layer = before[kind].layer(1)
    scores = torch.from_numpy(layer.query[4].astype(np.float64) @ layer.key[2].astype(np.float64).T * layer.scale)
    if kind is Kind.CAUSAL:
        scores = scores.masked_fill(torch.ones(N, N, dtype=torch.bool).triu(1), -torch.inf)
    moved = (torch.softmax(scores / 2.5, -1) - torch.softmax(scores, -1)).abs().sum(-1).mean() / 2
    assert layer.query.shape == (HEADS, N, D_K) and found.pop((1, 4)) == pytest.approx(float(moved), abs=1e-6)
    assert len(found) == 2 * HEADS - 1 and max(found.values()) < 1e-6


def test_layers_of_unlike_width_leave_a_hole():
    grid, layers = softmax.by_layer({(0, 0): 0.5, (3, 0): 0.1, (3, 1): 0.2})
    assert layers == [0, 3] and grid[1].tolist() == [0.1, 0.2] and grid[0, 0] == 0.5 and np.isnan(grid[0, 1])


def test_the_answers_change_is_scipys_cosine_distance_or_the_best_guesss_move():
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
