"""Rows without allowed keys, and heads that their mask disables, in every way that `look` reads attention."""
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right

from clearhead.model.core import heads
from clearhead.model.look.look import look
from tests.model.look.modules import Calling

TOKENS, WIDTH, HEADS = 6, 16, 4


def by_hand(query, key, value, mask):
    scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH / HEADS)
    scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ value


def by_hand_in_three_axes(*parts):
    *parts, mask = (part[0] if part.ndim == 4 else part for part in parts)
    return by_hand(*parts, mask)[None]


class Torchs(nn.Module):
    """Torch's module. needs: whether it is asked for its weights, which it then computes in another way."""

    def __init__(self, mask: torch.Tensor, needs: bool) -> None:
        super().__init__()
        self.attention, self.needs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), needs
        mask = mask if mask.ndim == 2 else mask[0]
        self.mask = ~mask if mask.dtype == torch.bool else mask

    def parts(self, x):
        joined = functional.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias)
        return [part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in joined.chunk(3, -1)]

    def forward(self, x):
        return self.attention(x, x, x, attn_mask=self.mask, need_weights=self.needs)[0]


ROUTES = {name: lambda mask, attend=attend: Calling(lambda *parts: attend(*parts, mask), WIDTH, HEADS)
          for name, attend in (("fused", functional.scaled_dot_product_attention), ("by hand", by_hand),
                               ("in three axes", by_hand_in_three_axes))} | {
    "torch's": lambda mask: Torchs(mask, False), "torch's with weights": lambda mask: Torchs(mask, True)}


def masks(which: str) -> torch.Tensor:
    mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
    if which == "rows":
        mask[2] = False
        return mask
    mask = mask.repeat(1, HEADS, 1, 1)
    if which == "head":
        mask[0, 1] = False
    else:
        mask[0, 1, 3] = mask[0, 2, 0] = False
    return mask


@pytest.fixture(params=[*((route, which, "bool") for route in ROUTES for which in ("rows", "head", "rows of heads")),
                        *((route, "rows of heads", "float") for route in ROUTES)], ids="-".join)
def case(request):
    """(module, its input, which keys each row may see)."""
    route, which, kind = request.param
    torch.manual_seed(0)
    allowed = masks(which)
    given = allowed if kind == "bool" else torch.zeros(allowed.shape).masked_fill(~allowed, -math.inf)
    open_keys = np.broadcast_to(allowed.numpy().reshape(-1, TOKENS, TOKENS), (HEADS, TOKENS, TOKENS))
    return ROUTES[route](given).eval(), torch.randn(1, TOKENS, WIDTH), open_keys


def reference(module: nn.Module, x: torch.Tensor, open_keys: np.ndarray) -> np.ndarray:
    """Softmax of q kᵀ / √d_k over the open keys, in float64 and without torch's attention; 0 where none is open."""
    query, key, _ = (part[0].detach().numpy() for part in module.double().parts(x.double()))
    raised = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(WIDTH / HEADS)) * open_keys
    return np.divide(raised, raised.sum(-1, keepdims=True), out=np.zeros_like(raised),
                     where=raised.sum(-1, keepdims=True) > 0)


def test_rows_without_keys_are_zero(case):
    module, x, open_keys = case
    record, wanted = look(module, x), reference(*case)
    layer, blind = record.maps[0].layers[0], ~open_keys.any(-1)
    assert (layer.sees_nothing == blind).all()
    found = np.stack([heads.weights(layer, head) for head in range(HEADS)])
    assert np.abs(found - wanted).max() < 1e-6
    assert record.verification.status in ("verified", "reported") and math.isfinite(record.verification.row_sum_error)


def test_measures_leave_out_rows_that_see_nothing(case):
    module, x, open_keys = case
    found, wanted = heads.measure(look(module, x).maps[0]), reference(*case)
    sees = open_keys.any(-1)
    assert (found.left_out == (~sees).sum(1)).all()
    entropy = -(wanted * np.log2(np.where(wanted > 0, wanted, 1))).sum(-1)
    for head in range(HEADS):
        if not sees[head].any():
            assert np.isnan(found.values["entropy"][head]) and (0, head) not in found.by_head("entropy")
            continue
        assert found.values["entropy"][head] == pytest.approx(entropy[head][sees[head]].mean(), abs=1e-5)
        previous = [wanted[head, row, row - 1] for row in range(1, TOKENS) if sees[head, row]]
        assert found.values["previous"][head] == pytest.approx(np.mean(previous), abs=1e-5)


@pytest.mark.parametrize(("mask", "kind"), [
    (torch.zeros(TOKENS, TOKENS, dtype=torch.bool), "self"), (torch.arange(TOKENS).expand(TOKENS, -1) < 1, "self"),
    (torch.full((TOKENS, TOKENS), torch.finfo(torch.float32).min), "self"), (masks("rows"), "causal"),
    (causal_lower_right(TOKENS, TOKENS), "causal")])
def test_only_rows_that_see_no_later_key_are_causal(mask, kind):
    (only,) = look(ROUTES["fused"](mask), torch.randn(1, TOKENS, WIDTH)).maps
    assert only.kind == kind
