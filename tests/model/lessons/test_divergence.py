"""Cross-entropy and divergence against scipy, label smoothing against torch, closed forms against the sums that they
stand for."""
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch.nn import functional

from model.core.statistics import entropy
from model.lessons import learning
from model.lessons import learning as d

SHARES = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda each: np.array(each) / sum(each))
CASES = [(words, epsilon, definition) for words in (2, 5, 37_000) for epsilon in (0.01, 0.1, 0.5)
         for definition in d.DEFINITIONS]


@given(SHARES, SHARES)
def test_cross_entropy_is_entropy_plus_divergence_and_all_three_are_scipys(p, q):
    assert d.divergence(p, q) == pytest.approx(stats.entropy(p, q), abs=1e-12)
    assert d.cross_entropy(p, q) == pytest.approx(stats.entropy(p) + stats.entropy(p, q), rel=1e-12)
    assert d.cross_entropy(p, p) == pytest.approx(entropy(p, base=math.e))


def test_nothing_is_lost_on_what_never_happens_and_everything_on_what_was_called_impossible():
    p, q = np.array([0.5, 0.5, 0]), np.array([0.25, 0.25, 0.5])
    assert d.cross_entropy(p, q) == pytest.approx(np.log(4)) and d.divergence(p, q) == pytest.approx(np.log(2))
    assert d.divergence(q, p) == np.inf


@pytest.mark.parametrize(("words", "epsilon", "definition"), CASES)
def test_a_smoothed_target_is_a_distribution_whose_entropy_is_the_floor(words, epsilon, definition):
    target = d.smoothed_target(1, words, epsilon, definition)
    assert target.sum() == pytest.approx(1) and target[1] == pytest.approx(d.peak(words, epsilon, definition))
    assert d.floor(words, epsilon, definition) == pytest.approx(stats.entropy(target))
    assert d.gap(words, epsilon, definition) == pytest.approx(np.log(target[1] / target[0]))
    shares = np.linspace(0.001, 0.999, 999)
    assert (d.smooth_loss(shares, words, epsilon, definition) >= d.floor(words, epsilon, definition) - 1e-12).all()


def test_on_all_words_is_what_torch_does_and_the_other_is_the_same_with_another_epsilon():
    logits = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    said = logits.softmax(-1).numpy()
    ours = d.cross_entropy(d.smoothed_target(3, 7, 0.1, "all"), said)
    assert ours == pytest.approx(functional.cross_entropy(logits, torch.tensor(3), label_smoothing=0.1).item())
    np.testing.assert_allclose(d.smoothed_target(3, 7, 0.1, "all"), d.smoothed_target(3, 7, 0.1 * 6 / 7, "others"))


def test_without_smoothing_the_floor_is_0_and_the_gap_has_no_end():
    assert d.floor(9, 0.0, "all") == d.floor(9, 0.0, "others") == 0 and d.gap(9, 0.0, "all") == np.inf
    np.testing.assert_allclose(d.smooth_loss(np.array([0.5, 1.0]), 9, 0.0, "others"), [np.log(2), 0], atol=1e-15)


def test_the_slope_of_every_target_is_what_torch_differentiates():
    logits = torch.randn(6, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(2))
    for target in (learning.one_hot(2, 6), np.array([0.1, 0.2, 0.3, 0.4, 0, 0])):
        functional.cross_entropy(logits, torch.tensor(target)).backward()
        said = logits.detach().softmax(-1).numpy()
        np.testing.assert_allclose(learning.slope(target, said), logits.grad.numpy(), atol=1e-12)
        floor, gap, loss = learning.parts(target, said)
        assert loss == pytest.approx(floor + gap)
        logits.grad = None


def test_students_are_the_teachers_own_snapshots_and_speak_its_signs():
    from model.scratch.source import open_model

    taken = learning.steps()
    assert taken[0] == 0 and taken == sorted(taken)
    words = open_model(learning.student(taken[1])).tokenizer.words
    assert tuple(words) == learning.vocabulary()
