"""Losses, descent and the short training compared with torch and scipy."""
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch.nn import functional

from model.core.query import quiet
from model.core.statistics import entropy
from model.lessons import learning
from model.lessons import learning as d
from model.lessons.learning import RunQuery, floor

SHARES = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda each: np.array(each) / sum(each))
CASES = [(words, epsilon) for words in (2, 5, 37_000) for epsilon in (0.01, 0.1, 0.5)]


@given(SHARES, SHARES)
def test_cross_entropy_equals_scipy(p, q):
    assert d.divergence(p, q) == pytest.approx(stats.entropy(p, q), abs=1e-12)
    assert d.cross_entropy(p, q) == pytest.approx(stats.entropy(p) + stats.entropy(p, q), rel=1e-12)
    assert d.cross_entropy(p, p) == pytest.approx(entropy(p, base=math.e))


@pytest.mark.parametrize(("words", "epsilon"), CASES)
def test_entropy_of_a_smoothed_target_equals_the_floor(words, epsilon):
    target = d.smoothed_target(1, words, epsilon)
    assert target.sum() == pytest.approx(1) and target[1] == pytest.approx(1 - epsilon)
    assert d.floor(words, epsilon) == pytest.approx(stats.entropy(target))
    assert d.gap(words, epsilon) == pytest.approx(np.log(target[1] / target[0]))
    shares = np.linspace(0.001, 0.999, 999)
    assert (d.smooth_loss(shares, words, epsilon) >= d.floor(words, epsilon) - 1e-12).all()


def test_smoothing_matches_torch_up_to_epsilon():
    logits = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    said = logits.softmax(-1).numpy()
    ours = d.cross_entropy(d.smoothed_target(3, 7, d.moved_share(0.1, 7, "all")), said)
    assert ours == pytest.approx(functional.cross_entropy(logits, torch.tensor(3), label_smoothing=0.1).item())


def test_slope_equals_torch():
    logits = torch.randn(6, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(2))
    for target in (learning.one_hot(2, 6), np.array([0.1, 0.2, 0.3, 0.4, 0, 0])):
        functional.cross_entropy(logits, torch.tensor(target)).backward()
        said = logits.detach().softmax(-1).numpy()
        np.testing.assert_allclose(learning.slope(target, said), logits.grad.numpy(), atol=1e-12)
        floor, gap, loss = learning.parts(target, said)
        assert loss == pytest.approx(floor + gap)
        logits.grad = None


@pytest.mark.parametrize("kind", learning.SIGNALS)
@pytest.mark.parametrize(("beta2", "epsilon"), [(0.98, 1e-9), (0.999, 1e-8), (0.9, 1e-2)])
def test_adam_steps_equal_torch(kind, beta2, epsilon):
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    adam, moves = torch.optim.Adam([weight], lr=1.0, betas=(0.9, beta2), eps=epsilon), []
    for gradient in learning.signal(kind):
        before = weight.item()
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        adam.step()
        moves.append(before - weight.item())
    np.testing.assert_allclose(learning.adam(learning.signal(kind), beta2=beta2, epsilon=epsilon), moves, atol=1e-10)


def test_rate_peaks_at_the_end_of_warm_up():
    steps = np.arange(1, 20_001)
    rates = learning.rate(steps, 512, 4000)
    assert rates.argmax() == 3999 and rates.max() == pytest.approx((512 * 4000) ** -0.5)
    assert rates[15_999] == pytest.approx(rates.max() / 2) and rates[1999] == pytest.approx(rates.max() / 2)
    ours = [learning.scaled_rate(step, rates.max(), 4000, True) for step in steps]
    np.testing.assert_allclose(ours, rates)


def test_clipping_equals_torch_and_keeps_the_direction():
    gradient = np.array([3.0, 4.0])
    weight = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    weight.grad = torch.tensor(gradient)
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    np.testing.assert_allclose(learning.clip(gradient, 1.0), weight.grad.numpy(), rtol=1e-5)
    assert (learning.clip(gradient, 0.0) == gradient).all() and (learning.clip(gradient, 5.0) == gradient).all()


@pytest.mark.parametrize("place", [(4.6, -2.4), (5.0, -2.5), (5.8, -2.9)])
def test_cliff_slope_equals_torch_gradient(place):
    weight = torch.tensor(place, dtype=torch.float64, requires_grad=True)
    h = torch.tensor(0.5, dtype=torch.float64)
    for _ in range(learning.UNFOLDED):
        h = weight[0] * torch.sigmoid(h) + weight[1]
    loss_there = (torch.sigmoid(h) - learning.WANTED) ** 2
    loss_there.backward()
    loss, slope = learning.cliff(*place)
    assert loss == pytest.approx(loss_there.item())
    np.testing.assert_allclose(slope, weight.grad.numpy(), rtol=1e-9)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(learning, "STEPS", 20)
    learning.trained_plainly.cache_clear()
    yield
    learning.trained_plainly.cache_clear()


def test_first_loss_equals_torch():
    ids, places, nouns, _ = learning.sentences(1, 0)
    with torch.no_grad():
        logits = learning.at_it(learning.untrained_model(1), ids, places)
    first = functional.cross_entropy(logits, nouns).item()
    assert RunQuery().answer(None, quiet).loss[0] == pytest.approx(first, rel=1e-5)
    words = logits.shape[-1]
    smooth = RunQuery("smooth", 0.2 * (words - 1) / words).answer(None, quiet)
    assert smooth.loss[0] == pytest.approx(functional.cross_entropy(logits, nouns, label_smoothing=0.2).item(),
                                           rel=1e-5)
    assert smooth.floor == pytest.approx(floor(words, 0.2 * (words - 1) / words), rel=1e-4)


def test_training_is_reproducible():
    first, again = RunQuery(warm_up=15).answer(None, quiet), RunQuery(warm_up=15).answer(None, quiet)
    assert (first.loss == again.loss).all() and (first.right == again.right).all()
    assert first.nats[-1] < first.nats[0] and len(first.loss) == 20 and list(first.tested) == [0, 10, 20]
    assert not first.floor.any()


def test_clipping_survives_the_wall():
    start = (5.4, -2.8)
    thrown, lengths = learning.descend(start, 0.3, 0.0)
    calm, _ = learning.descend(start, 0.3, 0.3)
    assert lengths.max() > 5 and (np.abs(np.diff(calm, axis=0)) <= 0.09 + 1e-12).all()
    assert learning.cliff(*thrown[-1])[0] > 10 * learning.cliff(*calm[-1])[0]
    assert learning.cliff(*calm[-1])[0] < learning.cliff(*start)[0]
