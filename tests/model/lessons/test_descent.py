"""Adam, clipping and gradients against torch; equation (3) against its peak in closed form."""
import numpy as np
import pytest
import torch

from model.lessons import learning


@pytest.mark.parametrize("kind", learning.SIGNALS)
@pytest.mark.parametrize(("beta2", "epsilon"), [(0.98, 1e-9), (0.999, 1e-8), (0.9, 1e-2)])
def test_adams_steps_are_torchs(kind, beta2, epsilon):
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    adam, moves = torch.optim.Adam([weight], lr=1.0, betas=(0.9, beta2), eps=epsilon), []
    for gradient in learning.signal(kind):
        before = weight.item()
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        adam.step()
        moves.append(before - weight.item())
    np.testing.assert_allclose(learning.adam(learning.signal(kind), beta2=beta2, epsilon=epsilon), moves, atol=1e-10)


def test_a_steady_gradient_of_any_size_moves_a_weight_by_the_rate():
    np.testing.assert_allclose(learning.adam(np.full(50, 1e-4)), 1, rtol=1e-4)
    np.testing.assert_allclose(learning.adam(np.full(50, 1e4)), 1, rtol=1e-4)


def test_the_papers_rate_peaks_at_the_end_of_warm_up_and_falls_with_the_root():
    steps = np.arange(1, 20_001)
    rates = learning.rate(steps, 512, 4000)
    assert rates.argmax() == 3999 and rates.max() == pytest.approx((512 * 4000) ** -0.5)
    assert rates[15_999] == pytest.approx(rates.max() / 2) and rates[1999] == pytest.approx(rates.max() / 2)
    ours = [learning.scaled_rate(step, rates.max(), 4000, True) for step in steps]
    np.testing.assert_allclose(ours, rates)


def test_without_warm_up_and_decay_the_rate_stands_still():
    assert {learning.scaled_rate(step, 0.1, 0, False) for step in range(1, 50)} == {0.1}
    assert learning.scaled_rate(4, 0.1, 0, True) == pytest.approx(0.05)


def test_clipping_is_torchs_and_keeps_the_direction():
    gradient = np.array([3.0, 4.0])
    weight = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    weight.grad = torch.tensor(gradient)
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    np.testing.assert_allclose(learning.clip(gradient, 1.0), weight.grad.numpy(), rtol=1e-5)
    assert (learning.clip(gradient, 0.0) == gradient).all() and (learning.clip(gradient, 5.0) == gradient).all()


@pytest.mark.parametrize("place", [(4.6, -2.4), (5.0, -2.5), (5.8, -2.9)])
def test_the_cliffs_slope_is_what_torch_differentiates(place):
    weight = torch.tensor(place, dtype=torch.float64, requires_grad=True)
    h = torch.tensor(0.5, dtype=torch.float64)
    for _ in range(learning.UNFOLDED):
        h = weight[0] * torch.sigmoid(h) + weight[1]
    loss_there = (torch.sigmoid(h) - learning.WANTED) ** 2
    loss_there.backward()
    loss, slope = learning.cliff(*place)
    assert loss == pytest.approx(loss_there.item())
    np.testing.assert_allclose(slope, weight.grad.numpy(), rtol=1e-9)


def test_at_the_wall_plain_descent_is_thrown_out_of_the_picture_and_clipped_descent_comes_down():
    start = (5.4, -2.8)
    thrown, lengths = learning.descend(start, 0.3, 0.0)
    calm, _ = learning.descend(start, 0.3, 0.3)
    assert lengths.max() > 5 and (np.abs(np.diff(calm, axis=0)) <= 0.09 + 1e-12).all()
    assert learning.cliff(*thrown[-1])[0] > 10 * learning.cliff(*calm[-1])[0]
    assert learning.cliff(*calm[-1])[0] < learning.cliff(*start)[0]
