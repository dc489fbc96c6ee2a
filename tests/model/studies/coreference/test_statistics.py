"""The statistics against scipy and numpy by hand, on sets whose truth is known."""
import itertools

import numpy as np
import pytest
from scipy import stats

from model.studies.coreference import statistics
from model.studies.coreference.cases import Case

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


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 15, 34, 200])
@pytest.mark.parametrize("p", [0.9, 0.975])
def test_t_quantile_is_scipys(degrees, p):
    assert statistics.t_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=2e-3)


def test_equal_weights_count_one_half():
    weights = np.array([[[0.2, 0.1]], [[0.1, 0.2]], [[0.3, 0.3]]], np.float32)
    np.testing.assert_array_equal(statistics.right(weights)[:, 0], [1, 0, 0.5])


def test_a_planted_head_is_found():
    pair, frame = layout()
    weights = planted(3, 0.9, head=41)
    correct = statistics.right(weights)
    assert statistics.best(correct, weights) == 41
    luck = statistics.luck(correct, pair)
    assert luck.p_value == 1 / 2001 and luck.best > 0.85 > luck.high
    found = statistics.held_out(correct, weights, frame, frame % 2 == 0)
    assert found.chosen == (41, 41) and found.accuracy.value == pytest.approx(correct[:, 41].mean())
    interval = statistics.intervals(correct, frame)[41]
    assert 0.8 < interval.low < 0.9 < interval.high < 0.97


def test_of_equal_heads_the_one_with_more_weight_is_best():
    weights = np.array([[[0.01, 0.009], [0.5, 0.2], [0.3, 0.1]]], np.float32)
    assert statistics.best(statistics.right(weights), weights) == 1


def test_noise_is_called_luck():
    """p-values of sets where no head knows anything are uniform: one in ten under 0.1."""
    pair, _ = layout(53)
    found = [statistics.luck(statistics.right(noise(seed, 53, 23)), pair, draws=200).p_value for seed in range(150)]
    assert stats.kstest(found, "uniform").pvalue > 0.01
    assert 0.04 < np.mean(np.array(found) < 0.1) < 0.18


def test_luck_is_the_exact_distribution_of_all_swaps():
    """For nine pairs all 512 ways to swap can be written down."""
    pair, _ = layout(9)
    correct = statistics.right(noise(5, 9, 4))
    every = []
    for swaps in itertools.product((False, True), repeat=9):
        swapped = np.where(np.repeat(swaps, 2)[:, None], 1 - correct, correct)
        every.append(swapped.mean(0).max())
    luck = statistics.luck(correct, pair, draws=20_000)
    assert luck.mean == pytest.approx(np.mean(every), abs=0.003)
    assert luck.p_value == pytest.approx(np.mean(np.array(every) >= correct.mean(0).max() - 1e-12), abs=0.02)


def test_twins_are_swapped_together():
    """A head that always points at the first of both twins is right once in each pair, however they are swapped."""
    correct = np.tile([1.0, 0.0], 31)[:, None]
    luck = statistics.luck(correct, np.repeat(np.arange(31), 2))
    assert (luck.best, luck.mean, luck.high, luck.p_value) == (0.5, 0.5, 0.5, 1.0)


def test_the_best_of_many_lucky_heads_is_no_better_on_other_sentences():
    _, frame = layout()
    gains, held = [], []
    for seed in range(40):
        weights = noise(100 + seed)
        correct = statistics.right(weights)
        gains.append(correct.mean(0).max())
        held.append(statistics.held_out(correct, weights, frame, frame % 2 == 0).accuracy.value)
    assert np.mean(gains) > 0.55
    assert abs(np.mean(held) - 0.5) < 3 * 0.5 / np.sqrt(40 * 2 * PAIRS)


@pytest.mark.parametrize(("frames", "spread"), [(8, 0.15), (35, 0.15), (35, 0.0)])
def test_intervals_cover(frames, spread):
    """Sentences of one frame are alike: the interval holds the truth in about 95 of 100 sets, though sentences are not independent."""
    draw, truth, covered = np.random.default_rng(frames), 0.7, 0
    for _ in range(300):
        chance = np.clip(draw.normal(truth, spread, frames), 0.4, 1.0)
        chance += truth - chance.mean() if spread == 0 else 0
        correct = (draw.random((frames, 8)) < chance[:, None]).reshape(-1, 1).astype(float)
        interval = statistics.intervals(correct, np.repeat(np.arange(frames), 8), draws=600)[0]
        covered += interval.low <= truth <= interval.high
    assert 0.91 <= covered / 300 <= 0.99


def test_the_interval_of_many_frames_is_scipys_bootstrap():
    draw = np.random.default_rng(7)
    means = draw.random(199)
    correct, frames = np.repeat(means, 3)[:, None], np.repeat(np.arange(199), 3)
    ours = statistics.intervals(correct, frames, draws=6_000)[0]
    theirs = stats.bootstrap((means,), np.mean, n_resamples=6_000, method="percentile", rng=draw).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_all_right_has_the_exact_bound_and_one_frame_has_none():
    _, frame = layout(22, 11)
    ours = statistics.intervals(np.ones((44, 1)), frame)[0]
    exact = stats.binomtest(11, 11).proportion_ci(0.95, method="exact")
    assert (ours.low, ours.high) == pytest.approx((exact.low, exact.high))
    alone = statistics.intervals(np.ones((44, 1)), np.zeros(44, int))[0]
    assert alone.value == 1 and np.isnan(alone.low) and np.isnan(alone.high)
    assert statistics.held_out(np.ones((44, 1)), np.ones((44, 1, 2)), np.zeros(44, int), np.zeros(44, bool)) is None


def test_halves_keep_frames_whole_and_are_of_one_size():
    _, frame = layout()
    names = [f"frame {number}" for number in range(FRAMES)]
    half = statistics.halves(frame, names)
    assert all(len(set(half[frame == each])) == 1 for each in range(FRAMES))
    assert abs(half.mean() - 0.5) < 0.04
    order = np.random.default_rng(0).permutation(len(frame))
    np.testing.assert_array_equal(statistics.halves(frame[order], names), half[order])


def test_baselines_by_hand():
    text = "The cat saw a dog near us before it ran."
    first, second, pronoun = (4, 7), (14, 17), (33, 35)
    cases = (Case(text, pronoun, first, second), Case(text, pronoun, second, first))
    np.testing.assert_array_equal(statistics.first(cases), [1, 0])
    np.testing.assert_array_equal(statistics.nearest(cases), [0, 1])
    np.testing.assert_array_equal(statistics.nearest((Case(text, (8, 11), first, second),)), [1])
