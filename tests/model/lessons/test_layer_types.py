"""The paper's table against graphs that are walked, the four layers against torch's, and the shuffle that only
attention does not notice."""
import numpy as np
import pytest
import torch

from model.lessons import cost, masking

W = cost.weights()
TOKENS = np.random.default_rng(3).standard_normal((cost.TOKENS, cost.WIDTH))


def given(*arrays):
    return [torch.from_numpy(np.ascontiguousarray(each)) for each in arrays]


def test_the_layers_are_torchs():
    query, key, value = given(TOKENS @ W.a, TOKENS @ W.b, TOKENS @ W.c)
    wanted = torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None])[0].numpy()
    assert cost.run("attention", TOKENS, W) == pytest.approx(wanted, abs=1e-12)
    near = torch.from_numpy(masking.window(cost.TOKENS, masking.Shape(window=2)))
    wanted = torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None],
                                                              attn_mask=near)[0].numpy()
    assert cost.run("restricted", TOKENS, W, 5) == pytest.approx(wanted, abs=1e-12)
    recurrent = torch.nn.RNN(cost.WIDTH, cost.WIDTH, bias=False, dtype=torch.float64)
    recurrent.load_state_dict(dict(zip(("weight_ih_l0", "weight_hh_l0"), given(W.a.T, W.b.T), strict=True)))
    assert cost.run("recurrent", TOKENS, W) == pytest.approx(recurrent(given(TOKENS)[0])[0].detach().numpy(),
                                                                    abs=1e-12)
    signal, kernel = given(TOKENS.T[None], W.kernel.transpose(2, 1, 0))
    wanted = torch.nn.functional.conv1d(signal, kernel, padding="same")[0].numpy().T
    assert cost.run("convolution", TOKENS, W) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_only_attention_does_not_notice_a_shuffle(seed):
    found = {kind: cost.order_sensitivity(kind, seed) for kind in cost.TYPES}
    assert found.pop("attention") < 1e-14 and min(found.values()) > 0.1


def test_the_neighbourhood_has_r_keys():
    for r in (1, 2, 5, 8):
        moved = TOKENS.copy()
        moved[12] += 1
        changed = (np.abs(cost.run("restricted", moved, W, r) - cost.run("restricted", TOKENS, W, r))
                   > 1e-12).any(1)
        assert changed.sum() == r


def test_the_longest_path_is_that_of_a_walk():
    """Attention over r keys on each side, walked layer by layer; a dilated convolution of kernel k reaches k^L tokens
    after L layers."""
    n, r = 64, 8
    walked = masking.layers_needed(masking.reach(masking.window(n, masking.Shape(window=r))))
    assert abs(walked - cost.table("restricted", n, 4, 2, r)["path"]) <= 1
    assert cost.table("convolution", 64, 4, 4, r)["path"] == pytest.approx(3)


def test_attention_is_cheaper_than_recurrence_exactly_below_n_equal_d():
    for n, wanted in ((511, ("attention", "restricted")), (512, ("attention", "recurrent", "restricted")),
                      (513, ("recurrent",))):   # no key is left out where r is above n
        assert cost.cheapest(n, 512, 3, 10**6) == wanted
    assert cost.cheapest(65_536, 4096, 64, 4096) == ("recurrent", "restricted")
    table = {kind: cost.table(kind, np.array([4.0, 64.0]), 16, 2, 8) for kind in cost.TYPES}
    assert table["attention"]["complexity"].tolist() == [256, 65_536]
    assert table["restricted"]["complexity"].tolist() == [256, 8192]
    assert table["recurrent"]["steps"].tolist() == [4, 64]
    assert table["recurrent"]["complexity"].tolist() == [1024, 16_384]
