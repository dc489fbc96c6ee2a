r"""Equation (1) of Vaswani et al. 2017, once: it trains the from-scratch model, draws pretrained heads and drives the
temperature lab.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

with what later models put around it: a soft-cap and a bias on the scores, a temperature, a mask, and a sink.
Axes: (..., query, d_k), (..., key, d_k), (..., key, d_v); anything before them is batch and head.
"""
import math

import torch
from torch import Tensor


def scores(query: Tensor, key: Tensor, *, scale: float | None = None, softcap: float | None = None,
           bias: Tensor | None = None) -> Tensor:
    """The numbers before mask and softmax, (..., query, key): query · key · scale, capped, plus bias.

    `scale` is 1/√d_k unless given (section 3.2.1). `softcap` bounds them as cap · tanh(score / cap) (Gemma 2, 2024).
    """
    # in place: n² numbers once
    product = (query @ key.transpose(-2, -1)).mul_(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if softcap is not None:
        product = softcap * torch.tanh(product / softcap)
    return product if bias is None else product + bias


def softmax(scores: Tensor, allowed: Tensor | None = None, *, temperature: float | Tensor = 1.0,
            sink: Tensor | None = None) -> Tensor:
    """Weights (..., query, key): softmax(scores / T) over the allowed keys. A row sums to 1, or to 1 minus the sink's
    share.

    `allowed` is bool, broadcast over (..., query, key); a row that may look at nothing is NaN, as the formula has it.
    `temperature` and `sink` broadcast over (..., query, 1); the sink is one more logit that belongs to no key (Xiao et
    al. 2024; gpt-oss). The row's maximum is subtracted before dividing, so that no temperature overflows. """
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    if sink is None and isinstance(temperature, float) and temperature == 1:
        return torch.softmax(scores, -1)   # the same formula in one pass over memory
    top = scores.amax(-1, keepdim=True)
    if sink is not None:
        top = torch.maximum(top, sink)
    raised = ((scores - top) / temperature).exp()
    total = raised.sum(-1, keepdim=True)
    if sink is not None:
        total = total + ((sink - top) / temperature).exp()
    return raised / total


def attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None = None, *, scale: float | None = None,
              softcap: float | None = None, bias: Tensor | None = None, temperature: float | Tensor = 1.0,
              sink: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Equation (1): the mix of values (..., query, d_v) and the weights that mixed them (..., query, key).

    A row that may look at nothing has weights of 0 and mixes nothing, as torch's fused kernels have it. """
    weights = softmax(scores(query, key, scale=scale, softcap=softcap, bias=bias), allowed, temperature=temperature,
                      sink=sink)
    if allowed is not None:
        weights = weights.masked_fill(~allowed.any(-1, keepdim=True), 0)
    return weights @ value, weights
