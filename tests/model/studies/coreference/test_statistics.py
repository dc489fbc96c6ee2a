"""What a head's answers are worth, on sets whose truth is known."""

import numpy as np
import pytest

from model.core.statistics import accuracy_intervals, best_column, held_out_accuracy, max_statistic_null
from model.studies import coreference
from model.studies.coreference import Case

PAIRS, HEADS, FRAMES = 139, 71, 29


def noise(seed: int, pairs: int = PAIRS, heads: int = HEADS) -> np.ndarray:
    """Heads that prefer one of the two nouns by chance, float32 (case, head, 2), twins side by side."""
    return np.random.default_rng(seed).random((2 * pairs, heads, 2), np.float32)


def planted(seed: int, accuracy: float, head: int) -> np.ndarray:
    """Noise with one head that is right in this share of the cases."""
    weights = noise(seed)
    hit = np.random.default_rng(seed + 1).permutation(len(weights)) < accuracy * len(weights)
    weights[:, head, 0], weights[:, head, 1] = np.where(hit, 0.6, 0.1), np.where(hit, 0.1, 0.6)
    return weights


def layout(pairs: int = PAIRS, frames: int = FRAMES) -> tuple[np.ndarray, np.ndarray]:
    """The pair and the frame of each case."""
    pair = np.repeat(np.arange(pairs), 2)
    return pair, pair % frames


def test_equal_weights_count_one_half():
    weights = np.array([[[0.2, 0.1]], [[0.1, 0.2]], [[0.3, 0.3]]], np.float32)
    np.testing.assert_array_equal(coreference.correctness(weights)[:, 0], [1, 0, 0.5])


def test_a_planted_head_is_found():
    pair, frame = layout()
    weights = planted(3, 0.9, head=41)
    correct = coreference.correctness(weights)
    assert best_column(correct, weights.sum(-1)) == 41
    luck = max_statistic_null(correct, pair)
    assert luck.p_value == 1 / 2001 and luck.best > 0.85 > luck.high
    found = held_out_accuracy(correct, weights.sum(-1), frame, frame % 2 == 0)
    assert found.chosen == (41, 41) and found.accuracy.value == pytest.approx(correct[:, 41].mean())
    interval = accuracy_intervals(correct, frame)[41]
    assert 0.8 < interval.low < 0.9 < interval.high < 0.97


def test_halves_keep_frames_whole_and_are_of_one_size():
    _, frame = layout()
    names = [f"frame {number}" for number in range(FRAMES)]
    half = coreference.split_halves(frame, names)
    assert all(len(set(half[frame == each])) == 1 for each in range(FRAMES))
    assert abs(half.mean() - 0.5) < 0.04
    order = np.random.default_rng(0).permutation(len(frame))
    np.testing.assert_array_equal(coreference.split_halves(frame[order], names), half[order])


def test_baselines_by_hand():
    text = "The cat saw a dog near us before it ran."
    first, second, pronoun = (4, 7), (14, 17), (33, 35)
    cases = (Case(text, pronoun, first, second), Case(text, pronoun, second, first))
    np.testing.assert_array_equal(coreference.first_noun_baseline(cases), [1, 0])
    np.testing.assert_array_equal(coreference.nearest_noun_baseline(cases), [0, 1])
    np.testing.assert_array_equal(coreference.nearest_noun_baseline((Case(text, (8, 11), first, second),)), [1])
