"""Attention compared with torch, memory with a closed form, power fits with scipy."""
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from torch.utils.flop_counter import FlopCounterMode

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import quiet
from clearhead.model.lessons import cost

HEADS, N = 2, 150


def vectors(n: int = N) -> list[torch.Tensor]:
    return list(torch.randn(3, HEADS, n, cost.D_K, generator=torch.Generator().manual_seed(1)))


def test_plain_and_fused_are_torchs_attention():
    wanted = torch.softmax(vectors()[0] @ vectors()[1].mT / cost.D_K**0.5, -1) @ vectors()[2]
    for way in (cost.plain, cost.fused):
        assert way(*vectors()).numpy() == pytest.approx(wanted.numpy(), abs=1e-5)


@pytest.mark.parametrize(("n", "side"), [(150, 64), (64, 16), (5, 3), (33, 1)])
def test_window_in_blocks_equals_torch(n, side):
    places = torch.arange(n)
    near = (places[:, None] - places).abs() <= side
    wanted = torch.nn.functional.scaled_dot_product_attention(*vectors(n), attn_mask=near)
    assert cost.window(*vectors(n), side).numpy() == pytest.approx(wanted.numpy(), abs=1e-5)


def test_multiplications_equal_torch_flops():
    """torch counts the operations of a layer's products: two per multiplication."""
    n, d_model = 96, 128
    for way in ("plain", "linear"):
        call = cost.prepare(way, n, d_model)
        with FlopCounterMode(display=False) as counted:
            call()
        assert cost.multiplications(way, n, d_model) == counted.get_total_flops() / 2
    even = cost.balanced_length(d_model)
    assert cost.multiplications("plain", even, d_model) == cost.multiplications("linear", even, d_model)
    assert cost.multiplications("window", 10, d_model) == cost.multiplications("plain", 10, d_model)


def test_only_plain_attention_is_quadratic_in_memory():
    def peak(way: str, n: int) -> int:
        return cost.measure(way, n, 64, quiet).peak

    peaks = {way: [peak(way, n) for n in (512, 1024, 2048)] for way in cost.WAYS}
    for n, found in zip((512, 1024, 2048), peaks["plain"], strict=True):
        assert found == pytest.approx(cost.bytes_held("plain", n, 64), rel=0.1) and found >= 8 * n * n
        assert all(peaks[way][(512, 1024, 2048).index(n)] <= cost.bytes_needed(way, n, 64) for way in cost.WAYS)
    for way in ("fused", "window", "linear"):
        assert peaks[way][2] < 2.3 * peaks[way][1] and peaks[way][2] < peaks["plain"][2] / 4


def test_power_fit_equals_scipy_and_is_exact_for_a_power():
    rng = np.random.default_rng(0)
    lengths, numbers = 2.0 ** np.arange(6, 15), np.exp(rng.standard_normal(9))
    wanted = stats.linregress(np.log(lengths[-cost.FITTED:]), np.log(numbers[-cost.FITTED:]))
    assert cost.power(lengths, numbers) == pytest.approx((wanted.slope, np.exp(wanted.intercept)))
    assert cost.power(lengths, 3e-9 * lengths**2) == pytest.approx((2.0, 3e-9))


def test_measurements_stop_at_limits(monkeypatch):
    assert cost.fits("plain", 64, 64, None) and not cost.fits("plain", cost.LENGTHS[-1], 64, None)
    assert not cost.fits("fused", 1024, 64, cost.Cost(cost.LONGEST / 3, 1))
    assert cost.fits("window", 1024, 64, cost.Cost(cost.LONGEST / 3, 1))
    monkeypatch.setattr(cost, "LIMITS", replace(LIMITS, measure_bytes=2**20))
    assert not cost.fits("plain", 1024, 64, None)


def test_attention_is_cheaper_below_n_equal_d():
    for n, wanted in ((511, ("attention", "restricted")), (512, ("attention", "recurrent", "restricted")),
                      (513, ("recurrent",))):   # no key is left out where r is above n
        assert cost.cheapest(n, 512, 3, 10**6) == wanted
    assert cost.cheapest(65_536, 4096, 64, 4096) == ("recurrent", "restricted")
    table = {kind: cost.table(kind, np.array([4.0, 64.0]), 16, 2, 8) for kind in cost.TYPES}
    assert table["attention"]["complexity"].tolist() == [256, 65_536]
    assert table["restricted"]["complexity"].tolist() == [256, 8192]
    assert table["recurrent"]["steps"].tolist() == [4, 64]
    assert table["recurrent"]["complexity"].tolist() == [1024, 16_384]


ROWS = st.lists(st.floats(-300, 300), min_size=1, max_size=20).map(np.array)


@given(ROWS, st.integers(1, 21))
def test_every_tile_has_the_softmax_so_far(scores, tile):
    values = np.random.default_rng(len(scores)).standard_normal((len(scores), 3))
    for step in cost.steps(scores, values, tile):
        read = slice(0, step.keys[1])
        assert step.m + np.log(step.l) == pytest.approx(special.logsumexp(scores[read]), abs=1e-9)
        assert step.answer == pytest.approx(special.softmax(scores[read]) @ values[read], abs=1e-9)
    assert step.keys[1] == len(scores)


def test_powers_cross_at_the_algebraic_point():
    lengths = [2**power for power in range(6, 14)]
    one, other = {n: 2e-9 * n**2 for n in lengths}, {n: 1e-6 * n for n in lengths}
    assert cost.crossing(one, other) == pytest.approx(500)
    assert cost.crossing(other, one) is None and cost.crossing({64: 1.0}, {64: 2.0}) is None


def test_tiles_round_and_only_attention_ignores_order():
    assert max(cost.agreement()) < 1e-6
    moved = {kind: cost.order_sensitivity(kind) for kind in cost.TYPES}
    assert moved.pop("attention") < 1e-12 and min(moved.values()) > 0.1
