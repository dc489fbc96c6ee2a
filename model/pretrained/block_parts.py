"""The parts of a block, recognised by their numbers: normalisations, feed-forward layers, the pairs of rotary
positions."""
from collections.abc import Callable
from typing import Any

import numpy as np

from model.core.trace import CLOSE, FeedForwardTrace, Norm


class Unfollowed(Exception):
    """A module does something that is not known here; the message is a clause on what, to stand after "as"."""


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same numbers, up to rounding."""
    if one.shape != other.shape:
        return False
    largest = max(float(np.abs(other).max(initial=0)), 1e-30)
    return float(np.abs(one - other).max(initial=0)) <= CLOSE * largest


def norm_of(name: str, call: Any) -> Norm:
    """The normalisation that reproduces a call's output: of layer or root-mean-square kind, with its gain as it is or
    (Gemma) 1 more. Raises Unfollowed if none does."""
    module, x = call.module, call.input.astype(np.float64)
    epsilon = next((float(getattr(module, attribute)) for attribute in ("eps", "variance_epsilon", "epsilon")
                    if hasattr(module, attribute)), 1e-6)
    weight, bias = module.weight.detach().float().numpy(), getattr(module, "bias", None)
    bias = None if bias is None else bias.detach().float().numpy()
    centred = x - x.mean(-1, keepdims=True)
    for kind, numbers in (("layer", centred), ("rms", x)):
        normal = numbers / np.sqrt((numbers * numbers).mean(-1, keepdims=True) + epsilon)
        for gain in (weight, 1 + weight):
            if close(normal * gain + (0 if bias is None else bias), call.output):
                return Norm(name, kind, call.input, call.output, gain, bias, epsilon)
    raise Unfollowed(f"its {name} normalises in a way that is not known here")


def activations() -> dict[str, Callable]:
    """The activations that a feed-forward layer may have, by name, as functions of a tensor."""
    import torch
    from torch.nn import functional

    return {"ReLU": torch.relu, "GELU": functional.gelu,
            "GELU (tanh)": lambda x: functional.gelu(x, approximate="tanh"), "SiLU": functional.silu,
            "GELU (sigmoid)": lambda x: x * torch.sigmoid(1.702 * x), "ReLU squared": lambda x: torch.relu(x).square()}


def feed_forward(linears: list, d_model: int) -> FeedForwardTrace | None:
    """The feed-forward layer among a block's matrix calls outside attention: W_2 is the last that leads back to
    d_model. None if it has another form."""
    import torch

    down = next((call for call in reversed(linears) if call.output.shape[-1] == d_model), None)
    if down is None:
        return None
    ups = [call for call in linears if call.order < down.order and call.output.shape == down.input.shape]
    for name, function in activations().items():
        for gate in ups:
            active = function(torch.tensor(gate.output)).numpy()
            others = [call.output for call in ups if call is not gate]
            hidden = active * others[0] if len(others) == 1 else active
            if len(ups) <= 2 and close(hidden, down.input):
                return FeedForwardTrace(name, gate.output, active, down.input if others else active, down.output)
    return None


def pairs_of(before: np.ndarray, after: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Which dimensions were turned together between two versions of the vectors (head, t, d): the pairs that keep their
    common length. Raises Unfollowed if none do.

    Llama's libraries pair dimension c with c + d/2, the paper 2c with 2c + 1 (Su et al. 2021); some models turn a part
    of d only. """
    if close(before, after):
        return ()
    size = before.shape[-1]
    for turned in (size, size // 2, size // 4):
        half = turned // 2
        for pairs in ([(c, c + half) for c in range(half)], [(2 * c, 2 * c + 1) for c in range(half)]):
            one, other = (np.stack([np.hypot(array[..., a], array[..., b]) for a, b in pairs])
                          for array in (before, after))
            if half and close(one, other) and close(before[..., turned:], after[..., turned:]):
                return tuple(pairs)
    raise Unfollowed("its queries are turned in a way that is not known here")
