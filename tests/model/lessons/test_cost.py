"""The ways of attention against torch, the memory against a closed form, powers against scipy, and a measurement that
knows its bounds."""
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from model.ask import sources
from model.core.limits import LIMITS
from model.core.query import UserError
from model.core.threads import Cancelled
from model.lessons import cost

HEADS, N = 2, 150


def given(n: int = N) -> list[torch.Tensor]:
    return list(torch.randn(3, HEADS, n, cost.D_K, generator=torch.Generator().manual_seed(1)))


def test_plain_and_fused_are_torchs_attention():
    wanted = torch.softmax(given()[0] @ given()[1].mT / cost.D_K**0.5, -1) @ given()[2]
    for way in (cost.plain, cost.fused):
        assert way(*given()).numpy() == pytest.approx(wanted.numpy(), abs=1e-5)


@pytest.mark.parametrize(("n", "side"), [(150, 64), (64, 16), (5, 3), (33, 1)])
def test_the_window_in_blocks_is_torchs_attention_under_the_windows_mask(n, side):
    places = torch.arange(n)
    near = (places[:, None] - places).abs() <= side
    wanted = torch.nn.functional.scaled_dot_product_attention(*given(n), attn_mask=near)
    assert cost.window(*given(n), side).numpy() == pytest.approx(wanted.numpy(), abs=1e-5)


def test_multiplications_are_the_sizes_of_the_matrix_products():
    """torch counts the operations that a layer's products really do: two for each multiplication."""
    from torch.utils.flop_counter import FlopCounterMode

    n, d_model = 96, 128
    for way in ("plain", "linear"):
        call = cost.prepare(way, n, d_model)
        with FlopCounterMode(display=False) as counted:
            call()
        assert cost.multiplications(way, n, d_model) == counted.get_total_flops() / 2
    even = cost.balanced_length(d_model)
    assert cost.multiplications("plain", even, d_model) == cost.multiplications("linear", even, d_model)
    assert cost.multiplications("window", 10, d_model) == cost.multiplications("plain", 10, d_model)


def test_memory_is_what_the_matrices_hold_and_only_plain_attention_is_quadratic():
    def peak(way: str, n: int) -> int:
        return cost.measure(cost.CostQuery(way, n, 64), lambda fraction, text: None).peak

    peaks = {way: [peak(way, n) for n in (512, 1024, 2048)] for way in cost.WAYS}
    for n, found in zip((512, 1024, 2048), peaks["plain"], strict=True):
        assert found == pytest.approx(cost.bytes_held("plain", n, 64), rel=0.1) and found >= 8 * n * n
        assert all(peaks[way][(512, 1024, 2048).index(n)] <= cost.bytes_needed(way, n, 64) for way in cost.WAYS)
    for way in ("fused", "window", "linear"):
        assert peaks[way][2] < 2.3 * peaks[way][1] and peaks[way][2] < peaks["plain"][2] / 4


def test_powers_are_scipys_regression_and_exact_for_a_power():
    rng = np.random.default_rng(0)
    lengths, numbers = 2.0 ** np.arange(6, 15), np.exp(rng.standard_normal(9))
    wanted = stats.linregress(np.log(lengths[-cost.FITTED:]), np.log(numbers[-cost.FITTED:]))
    assert cost.power(lengths, numbers) == pytest.approx((wanted.slope, np.exp(wanted.intercept)))
    assert cost.power(lengths, 3e-9 * lengths**2) == pytest.approx((2.0, 3e-9))


def test_two_powers_cross_where_algebra_says():
    lengths = [2**power for power in range(6, 14)]
    one, other = {n: 2e-9 * n**2 for n in lengths}, {n: 1e-6 * n for n in lengths}
    assert cost.crossing(one, other) == pytest.approx(500)
    assert cost.crossing(other, one) is None and cost.crossing({64: 1.0}, {64: 2.0}) is None


def test_a_measurement_is_a_question_like_any_other_and_stops_between_its_calls():
    found = sources.ask(cost.CostQuery("fused", 64, 64), "test").result(120)
    assert not hasattr(found, "nbytes")   # which the cache would take for the size of the answer itself
    assert found.seconds > 0 and found.peak > 0 and sources.cached(cost.CostQuery("fused", 64, 64)) is found

    def nobody_waits(fraction: float, text: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        cost.measure(cost.CostQuery("plain", 64, 64), nobody_waits)


def test_no_measurement_goes_beyond_memory_time_or_length(monkeypatch):
    assert cost.stop_reason("plain", 64, 64, None) is None
    assert cost.stop_reason("fused", 2 * cost.END, 64, None) == "length"
    assert cost.stop_reason("plain", cost.END, 64, None) == "memory"
    assert cost.stop_reason("fused", 1024, 64, cost.Cost(cost.LONGEST / 3, 1)) == "time"
    assert cost.stop_reason("window", 1024, 64, cost.Cost(cost.LONGEST / 3, 1)) is None
    monkeypatch.setattr(cost, "LIMITS", replace(LIMITS, measure_bytes=2**20))
    assert cost.stop_reason("plain", 1024, 64, None) == "memory"
    for wrong in (("plain", 1024, 64), ("sparse", 64, 64), ("plain", 64, 65), ("plain", 64, 2**20)):
        with pytest.raises(UserError):
            cost.measure(cost.CostQuery(*wrong), lambda fraction, text: None)
