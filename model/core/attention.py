r"""Equation (1) of Vaswani et al. 2017, once: it trains the from-scratch model, draws pretrained heads and drives the
temperature lab.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

with what later models put around it: a soft-cap and a bias on the scores, a temperature, a mask, and a sink.
Axes: (..., query, d_k), (..., key, d_k), (..., key, d_v); anything before them is batch and head.

Arrays are numpy's, so that a small picture needs no torch, or torch's; each result is of the same library.
"""
import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", np.ndarray, "Tensor")


def library(array: "np.ndarray | Tensor") -> Any:
    """Return whose array it is: numpy or torch."""
    if isinstance(array, np.ndarray):
        return np
    import torch

    return torch


def scores(query: Array, key: Array, *, scale: float | None = None, softcap: float | None = None,
           bias: Array | None = None) -> Array:
    """Return the numbers before mask and softmax, (..., query, key): query · key · scale, capped, plus bias.

    `scale` is 1/√d_k unless given (section 3.2.1). `softcap` bounds them as cap · tanh(score / cap) (Gemma 2, 2024).
    """
    product = query @ key.swapaxes(-2, -1)
    product *= 1 / math.sqrt(query.shape[-1]) if scale is None else scale   # in place: n² numbers once
    if softcap is not None:
        product = softcap * library(product).tanh(product / softcap)
    return product if bias is None else product + bias


def softmax(scores: Array, allowed: Array | None = None, *, temperature: float | Array = 1.0,
            sink: Array | None = None) -> Array:
    """Return weights (..., query, key): softmax(scores / T) over the allowed keys. A row sums to 1, or to 1 minus the
    sink's share.

    `allowed` is bool, broadcast over (..., query, key); a row that may look at nothing is NaN, as the formula has it.
    `temperature` and `sink` broadcast over (..., query, 1); the sink is one more logit that belongs to no key (Xiao et
    al. 2024; gpt-oss). The row's maximum is subtracted before dividing, so that no temperature overflows.
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
    """Equation (1): the mix of values (..., query, d_v) and the weights that mixed them (..., query, key).

    A row that may look at nothing has weights of 0 and mixes nothing, as torch's fused kernels have it. """
    weights = softmax(scores(query, key, scale=scale, softcap=softcap, bias=bias), allowed, temperature=temperature,
                      sink=sink)
    if allowed is not None:
        weights = library(weights).where(allowed.any(-1, keepdims=True), weights, 0)
    return weights @ value, weights
