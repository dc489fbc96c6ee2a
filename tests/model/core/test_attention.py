import pytest
import torch

from clearhead.model.core.attention import attention

G = torch.Generator().manual_seed(0)
QUERY, KEY, VALUE = (torch.randn(2, 3, n, d, generator=G) for n, d in ((5, 7), (11, 7), (11, 13)))
MASK = torch.rand(5, 11, generator=G) > 0.4
MASK[:, 0] = True


@pytest.mark.parametrize("mask", [None, MASK])
def test_equals_torchs_attention(mask):
    mixed, _ = attention(QUERY, KEY, VALUE, mask)
    assert torch.allclose(mixed, torch.nn.functional.scaled_dot_product_attention(QUERY, KEY, VALUE, mask), atol=1e-6)
