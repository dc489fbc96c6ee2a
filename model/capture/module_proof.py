"""What a torch module's attention put out, held against what its queries, keys and values say: layer by layer, and the
module's own results held against those of a pass that nobody observed."""
import math
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from torch import Tensor

from model.capture.module_attention import Attention, as_numbers
from model.capture.recheck import recompute
from model.core.limits import LIMITS
from model.core.record import Layer


def prove(attention: Attention, layer: Layer) -> tuple[float, float, int]:
    """(largest difference of weights · value from what the call really put out, as a share of its largest number;
    distance of a row's sum from 1, where no sink takes its share; rows compared, over all heads). Infinite where they
    cannot be compared."""
    call = attention.call
    assert call is not None and call.rows is not None and call.outputs is not None
    mixed, sums = recompute(layer, call.rows)
    ours = mixed if attention.project is None else attention.project(mixed)
    if ours.shape != call.outputs.shape:
        return math.inf, math.inf, 0
    compared, sees = attention.compared, ~attention.sees_nothing[:, call.rows]
    row_error = float(np.abs(sums - 1)[sees].max(initial=0)) if layer.sink is None else 0.0
    rows = int(compared.sum()) * (1 if attention.project is None else layer.heads)
    return difference(ours[compared], call.outputs[compared]), row_error, rows


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference, as a share of the largest of their numbers; infinite where one is not finite."""
    if not ours.size:
        return 0.0
    error = float(np.abs(ours - theirs).max()) / (float(np.abs(theirs).max()) or 1.0)
    return error if math.isfinite(error) else math.inf


def results_differ(observed: Any, unobserved: Any, blind: bool = False) -> float | None:
    """The largest difference between what a module put out in two passes, as a share of the largest number of the
    tensor: NaN where a number is not finite, None where there are no numbers. Vectors of nothing but 0, as torch's fast
    path leaves padding, are not compared; nor, where some row may look at nothing (`blind`), those with NaN, which
    some of torch's kernels give for it and others do not."""
    all_ours, all_theirs = list(_tensors(observed)), list(_tensors(unobserved))
    if not all_ours and not all_theirs:
        return None
    if [each.shape for each in all_ours] != [each.shape for each in all_theirs]:
        return math.inf
    errors = []
    for one, other in zip(all_ours, all_theirs, strict=True):
        ours, theirs = as_numbers(one), as_numbers(other)
        if blind and theirs.ndim > 1:
            known = ~(np.isnan(ours).any(-1) | np.isnan(theirs).any(-1))
            ours, theirs = ours[known], theirs[known]
            if not known.any():
                continue
        if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
            return math.nan
        if theirs.ndim > 1:
            left_out = ~theirs.any(-1)
            if left_out.any() and not left_out.all():
                ours, theirs = ours[~left_out], theirs[~left_out]
        errors.append(difference(ours, theirs))
    return max(errors, default=None)


def _tensors(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """The tensors of numbers in a module's result, however deep they lie in it, up to the limit."""
    if depth > LIMITS.depth:
        return   # among them a list that holds itself
    if isinstance(value, Tensor):
        if value.is_floating_point() and not value.is_nested and not value.is_sparse:
            yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each, depth + 1)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _tensors(vars(value), depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each, depth + 1)
