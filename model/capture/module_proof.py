"""What a torch module's attention put out, held against what its queries, keys and values say: layer by layer, and the
module's own results held against those of a pass that nobody observed."""
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from model.capture.module_attention import Attention, as_numbers
from model.capture.recheck import recompute
from model.core.record import Layer


def prove(attention: Attention, layer: Layer) -> tuple[float, float]:
    """(largest difference of weights · value from what the call really put out, as a share of its largest number;
    distance of a row's sum from 1, where no sink takes its share). Infinite where they cannot be compared."""
    call = attention.call
    assert call is not None and call.rows is not None and call.outputs is not None
    mixed, sums = recompute(layer, call.rows)
    ours = mixed if attention.project is None else attention.project(mixed)
    if ours.shape != call.outputs.shape:
        return math.inf, math.inf
    return difference(ours, call.outputs), float(np.abs(sums - 1).max()) if layer.sink is None else 0.0


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference, as a share of the largest of their numbers; infinite where one is not finite."""
    if not ours.size:
        return 0.0
    error = float(np.abs(ours - theirs).max()) / (float(np.abs(theirs).max()) or 1.0)
    return error if math.isfinite(error) else math.inf


def results_differ(observed: Any, unobserved: Any) -> float:
    """The largest difference between what a module put out in two passes, as a share of the largest number of the
    tensor. Vectors of nothing but 0, as torch's fast path leaves padding, are not compared."""
    pairs = list(zip(_tensors(observed), _tensors(unobserved), strict=False))
    errors = [0.0]
    for one, other in pairs:
        if one.shape != other.shape:
            return math.inf
        ours, theirs = as_numbers(one), as_numbers(other)
        if theirs.ndim > 1:
            left_out = ~theirs.any(-1)
            if left_out.any() and not left_out.all():
                ours, theirs = ours[~left_out], theirs[~left_out]
        errors.append(difference(ours, theirs))
    return max(errors)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of numbers in a module's result."""
    if isinstance(value, Tensor):
        if value.is_floating_point() and not value.is_nested and not value.is_sparse:
            yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)
