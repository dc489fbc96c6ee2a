import pytest
import torch

from clearhead.model.core.attention import attention, scores, softmax

G = torch.Generator().manual_seed(0)
QUERY, KEY, VALUE = (torch.randn(2, 3, n, d, generator=G) for n, d in ((5, 7), (11, 7), (11, 13)))
MASK = torch.rand(5, 11, generator=G) > 0.4
MASK[:, 0] = True


@pytest.mark.parametrize("mask", [None, MASK])
def test_equals_torchs_attention(mask):
    mixed, _ = attention(QUERY, KEY, VALUE, mask)
    assert torch.allclose(mixed, torch.nn.functional.scaled_dot_product_attention(QUERY, KEY, VALUE, mask), atol=1e-6)


def test_order_of_cap_and_bias_is_cap_first():
    bias = torch.randn(5, 11, generator=G)
    plain = QUERY @ KEY.transpose(-2, -1) * 0.3
    assert torch.allclose(scores(QUERY, KEY, scale=0.3, softcap=2.0, bias=bias), 2 * torch.tanh(plain / 2) + bias)


def test_low_temperature_is_argmax_and_high_is_uniform():
    row = torch.tensor([[1.0, 3.0, 3.0, 2.0, 9.0]])
    allowed = torch.tensor([[True, True, True, True, False]])
    assert torch.allclose(softmax(row, allowed, temperature=1e-4), torch.tensor([[0, 0.5, 0.5, 0, 0]]), atol=1e-6)
    assert torch.allclose(softmax(row, allowed, temperature=1e4), torch.tensor([[0.25, 0.25, 0.25, 0.25, 0]]),
                          atol=1e-3)
