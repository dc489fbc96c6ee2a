from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, Silence, quiet
from clearhead.model.studies import patch_attention as study
from tests import fabricate

MADE = fabricate.pictured(rows=4, columns=6, size=10)
MAP = MADE[Kind.SELF]


def holding(record):
    return SimpleNamespace(record=lambda *_: record)


def test_distance_equals_its_definition():
    weights, boxes, (high, wide) = heads.weights(MAP.layer(1), 2), MAP.keys.boxes, MADE.picture.shape[:2]
    rows = []
    for query in MAP.keys.patches:
        a, total, far = boxes[query], 0.0, 0.0
        for key in MAP.keys.patches:
            b = boxes[key]
            across = (a.left + a.right - b.left - b.right) / 2 * wide
            down = (a.top + a.bottom - b.top - b.bottom) / 2 * high
            far, total = far + weights[query, key] * (across ** 2 + down ** 2) ** 0.5, total + weights[query, key]
        rows.append(far / total)
    found = study.PatchHeadsQuery(None, Kind.SELF).answer(holding(MADE), quiet)
    assert found.frame().loc[(1, 2), "distance"] == pytest.approx(np.mean(rows), rel=1e-6)
    assert found.frame().loc[(1, 2), "special"] == pytest.approx(weights[1:, 0].mean(), rel=1e-5)


def test_special_share_is_of_what_a_sink_leaves():
    layers = tuple(replace(layer, sink=np.full(layer.heads, 2, np.float32)) for layer in MAP.layers)
    sunk = replace(MADE, maps=(replace(MAP, layers=layers),))
    found, plain = (study.PatchHeadsQuery(None, Kind.SELF).answer(holding(each), quiet) for each in (sunk, MADE))
    np.testing.assert_allclose(found.special, plain.special, atol=1e-6)
    np.testing.assert_allclose(found.distance, plain.distance, rtol=1e-5)


def test_uniform_row_looks_half_a_side_away():
    square = fabricate.pictured(rows=16, columns=16, size=14)
    side = square.picture.shape[0]
    even = study.PatchHeadsQuery(None, Kind.SELF).answer(holding(square), quiet).even
    assert even["distance"] / side == pytest.approx(0.521, abs=0.015)
    assert even["entropy"] == pytest.approx(np.log2(257)) and even["special"] == pytest.approx(1 / 257)


def test_rollouts_are_equal_if_nothing_is_dropped():
    found = study.PatchRolloutQuery(MADE.query, MAP.kind, 0.0).answer(holding(MADE), quiet)
    np.testing.assert_allclose(found.right, found.copied, atol=1e-6)
    step = [np.mean([heads.weights(layer, head) for head in range(layer.heads)], 0) / 2 + np.eye(25) / 2
            for layer in MAP.layers]
    np.testing.assert_allclose(found.right, step[1] @ step[0], atol=1e-6)


def test_rollout_leaves_out_what_a_silenced_head_attends_to():
    edits = frozenset({Silence(Kind.SELF, 1, 0), Silence(Kind.SELF, 0, 2, "mean")})
    record = replace(MADE, query=replace(MADE.query, edits=edits))
    found = study.PatchRolloutQuery(record.query, MAP.kind, 0.0).answer(holding(record), quiet)
    weights = [np.stack([heads.weights(layer, head) for head in range(layer.heads)]) for layer in MAP.layers]
    weights[1][0] = 0
    weights[0][2] = weights[0][2].mean(0)
    first, second = (each.mean(0) / 2 + np.eye(25) / 2 for each in weights)
    np.testing.assert_allclose(found.right, second / second.sum(1, keepdims=True) @ first, atol=1e-6)


def test_smallest_weights_are_left_out():
    weights = np.array([[0.01, 0.99], [0.4, 0.6]])
    np.testing.assert_array_equal(study.without_smallest(weights, 0.5), [[0.01, 0.99], [0, 0.6]])


def test_outliers_are_far_above_the_median():
    norms = np.ones(25)
    assert study.outliers(norms, MAP.keys.patches) == ()
    norms[[0, 7]] = 9
    assert study.outliers(norms, MAP.keys.patches) == (7,)
