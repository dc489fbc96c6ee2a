"""Dropout compared with torch, a bent fit with its residual, depth with closed forms."""
import numpy as np
import pytest
import torch

from clearhead.model.lessons import block

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("layers", [2, 12])
def test_post_norm_fixes_stream_length(layers):
    post, _ = block.depth(layers, False)
    pre, _ = block.depth(layers, True)
    assert post == pytest.approx(np.full(layers, np.sqrt(block.WIDTH)), rel=1e-3)
    assert (np.diff(pre) > 0).all()


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.9])
def test_dropout_keeps_the_mean(rate):
    x = RNG.normal(size=64)
    drawn = block.drop(x, rate, 3, 20_000)
    assert drawn.mean(0) == pytest.approx(x, abs=0.12 * (1 + 8 * rate))
    assert (drawn**2).sum(-1).mean() == pytest.approx((x @ x) / (1 - rate), rel=0.03)
    assert (drawn == 0).mean() == pytest.approx(rate, abs=0.01)
    torchs = torch.nn.functional.dropout(torch.ones(500), rate, training=True).numpy()
    assert torchs.max() == pytest.approx((drawn[0] / x).max(), rel=1e-6)    # what is kept grows by the same factor


@pytest.mark.parametrize("units", [0, 1, 8, 32])
def test_bent_line_is_the_best_fit(units):
    x = np.linspace(-1, 1, 101)
    fit = block.bent_fit(np.sin(4 * x), x, units)
    bends = np.linspace(-1, 1, units + 2)[1:-1]
    columns = torch.tensor(np.column_stack([np.ones_like(x), x, *(np.clip(x - bend, 0, None) for bend in bends)]))
    assert (columns.T @ torch.tensor(np.sin(4 * x) - fit)).abs().max() < 1e-8    # nothing left that it could take
    slopes = np.diff(fit) / np.diff(x)
    assert len(np.unique(slopes.round(6))) <= 2 * units + 1
