r"""Compute equation (1) of Vaswani et al. 2017. The same code trains our models, draws pretrained heads and drives the
temperature lab.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

with the additions of later models: a soft-cap and a bias on the scores, a temperature, a mask, and a sink. Axes: (...,
query, d_k), (..., key, d_k), (..., key, d_v); leading axes are batch and head.

Arguments are numpy arrays or torch tensors, and results have the same type. Small pictures therefore need no torch.
"""
import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", np.ndarray, "Tensor")


def library(array: "np.ndarray | Tensor") -> Any:
    """Return the library that the array belongs to: numpy or torch."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def scores(query: Array, key: Array, *, scale: float | None = None, softcap: float | None = None,
           bias: Array | None = None) -> Array:
    """Return attention scores before mask and softmax, (..., query, key): query · key · scale, capped, plus bias.

    `scale` defaults to 1/√d_k (section 3.2.1). `softcap` caps the scores as cap · tanh(score / cap) (Gemma 2, 2024).
    """
    product = query @ key.swapaxes(-2, -1)
    product *= 1 / math.sqrt(query.shape[-1]) if scale is None else scale   # in place, to allocate n² numbers once
    if softcap is not None:
        product = softcap * library(product).tanh(product / softcap)
    return product if bias is None else product + bias


def softmax(scores: Array, allowed: Array | None = None, *, temperature: float | Array = 1.0,
            sink: Array | None = None) -> Array:
    """Return weights (..., query, key): softmax(scores / T) over the allowed keys. A row sums to 1, or to 1 minus the
    sink's share.

    `allowed` is bool, broadcast over (..., query, key); a row without an allowed key is NaN, as the formula implies.
    `temperature` and `sink` broadcast over (..., query, 1); the sink is an extra logit that belongs to no key (Xiao et
    al. 2024; gpt-oss). The row's maximum is subtracted before dividing, so small temperatures do not overflow.
    """
    xp = library(scores)
    if allowed is not None:
        scores = xp.where(allowed, scores, -math.inf)
    if xp is not np and sink is None and isinstance(temperature, float) and temperature == 1:
        return xp.softmax(scores, -1)   # the same formula in one pass over memory
    top = xp.amax(scores, -1, keepdims=True)
    if sink is not None:
        top = xp.maximum(top, sink)
    raised = xp.exp((scores - top) / temperature)
    total = raised.sum(-1, keepdims=True)
    if sink is not None:
        total = total + xp.exp((sink - top) / temperature)
    return raised / total


def attention(query: Array, key: Array, value: Array, allowed: Array | None = None, *, scale: float | None = None,
              softcap: float | None = None, bias: Array | None = None, temperature: float | Array = 1.0,
              sink: Array | None = None) -> tuple[Array, Array]:
    """Compute equation (1): return the mixed values (..., query, d_v) and the weights (..., query, key).

    A row without an allowed key has weights of 0 and an output of 0, as in torch's fused kernels.
    """
    weights = softmax(scores(query, key, scale=scale, softcap=softcap, bias=bias), allowed, temperature=temperature,
                      sink=sink)
    if allowed is not None:
        weights = library(weights).where(allowed.any(-1, keepdims=True), weights, 0)
    return weights @ value, weights
