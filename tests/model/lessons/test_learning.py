"""Losses, descent and the short training compared with torch and scipy."""
import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from clearhead.model.core.query import quiet
from clearhead.model.lessons import learning
from clearhead.model.lessons.learning import RunQuery


def test_smoothing_matches_torch_up_to_epsilon():
    logits = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    said = logits.softmax(-1).numpy()
    ours = learning.cross_entropy(learning.smoothed_target(3, 7, learning.moved_share(0.1, 7, "all")), said)
    assert ours == pytest.approx(functional.cross_entropy(logits, torch.tensor(3), label_smoothing=0.1).item())


@pytest.mark.parametrize("share", [0.001, 0.6, 0.999])
@pytest.mark.parametrize(("words", "epsilon"), [(2, 0.01), (5, 0.1), (37_000, 0.5)])
def test_smoothed_loss_is_the_cross_entropy_with_its_target(words, epsilon, share):
    said = np.full(words, (1 - share) / (words - 1))
    said[1] = share
    target = learning.smoothed_target(1, words, epsilon)
    assert learning.floor(words, epsilon) == pytest.approx(stats.entropy(target))
    assert learning.smooth_loss(share, words, epsilon) == pytest.approx(stats.entropy(target)
                                                                        + stats.entropy(target, said))


def test_slope_equals_torch():
    logits = torch.randn(6, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(2))
    for target in (learning.one_hot(2, 6), np.array([0.1, 0.2, 0.3, 0.4, 0, 0])):
        functional.cross_entropy(logits, torch.tensor(target)).backward()
        said = logits.detach().softmax(-1).numpy()
        np.testing.assert_allclose(learning.slope(target, said), logits.grad.numpy(), atol=1e-12)
        floor, gap, loss = learning.parts(target, said)
        assert loss == pytest.approx(floor + gap)
        logits.grad = None


def test_rate_peaks_at_the_end_of_warm_up():
    steps = np.arange(1, 20_001)
    rates = learning.rate(steps, 512, 4000)
    assert rates.argmax() == 3999 and rates.max() == pytest.approx((512 * 4000) ** -0.5)
    assert rates[15_999] == pytest.approx(rates.max() / 2) and rates[1999] == pytest.approx(rates.max() / 2)
    ours = [learning.scaled_rate(step, rates.max(), 4000, True) for step in steps]
    np.testing.assert_allclose(ours, rates)


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
    assert smooth.floor == pytest.approx(learning.floor(words, 0.2 * (words - 1) / words), rel=1e-4)


def test_training_is_reproducible():
    first, again = RunQuery(warm_up=15).answer(None, quiet), RunQuery(warm_up=15).answer(None, quiet)
    assert (first.loss == again.loss).all() and (first.right == again.right).all()
    assert first.nats[-1] < first.nats[0] and len(first.loss) == 20 and list(first.tested) == [0, 10, 20]
    assert not first.floor.any()
