"""Run a torch module twice with the same random numbers, once observed and once not, and leave it unchanged."""
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from model.capture.forward_pass import Unsupported
from model.capture.torch_attention import Attention, as_numbers
from model.capture.transformers_internals import attention_of
from model.capture.verify import differences, recompute
from model.core.limits import seeded
from model.core.query import largest, with_arrays
from model.core.record import Layer

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

    from model.capture.torch_attention import Observer


FUSED = "sdpa"   # transformers' name for torch's fused attention


@with_arrays
class Observation:
    """The attention observed in a module."""

    found: "list[Attention]"   # in the order of the pass
    unread: list[str]          # attention that cannot be read: the module's name and the reason
    # largest difference between the outputs of the observed and an unobserved pass, relative to the largest number;
    # NaN if either contains NaN or infinity, None if there is no number to compare
    difference: float | None

    @property
    def tolerance(self) -> float:
        """The largest difference between two passes that counts as equal. It grows like a random walk of rounding
        errors."""
        return max((each.tolerance for each in self.found), default=0.0) * math.sqrt(len(self.found))

    @property
    def agrees(self) -> bool:
        """Whether both passes had the same output."""
        return self.difference is not None and self.difference <= self.tolerance


def observe(network: "nn.Module", forward: Callable[[], object], batch: int, inputs: "list[Tensor]") -> Observation:
    """Observe the attention of text number `batch` in forward(), which calls the network on its inputs. Models of
    transformers with another attention implementation are switched to torch's for the observed pass, if this leaves
    their output unchanged."""
    from model.capture.torch_attention import Observer

    new = partial(Observer, network, batch, inputs)
    with _evaluating(network):
        plain = _once(network, forward)
        if attention_of(network) not in (None, FUSED):
            for look in (_fused, _registered) if batch == 0 else (_fused,):
                with suppress(Unsupported, ValueError, KeyError, TypeError, RuntimeError):   # unsupported family
                    found = look(network, forward, new, plain)
                    if found.found and found.agrees:
                        return found
        return _observed(network, forward, new, plain)


def _fused(network: "PreTrainedModel", forward: Callable[[], object], new: "Callable[[], Observer]",
           plain: object) -> Observation:
    """Observe a model of transformers with torch's fused attention."""
    with _attention(network, FUSED):
        return _observed(network, forward, new, plain)


def _registered(network: "PreTrainedModel", forward: Callable[[], object], new: "Callable[[], Observer]",
                plain: object) -> Observation:
    """Observe a model of transformers with the attention function registered for models from a folder, which supports
    soft-caps and sinks. Reads only the first text of a batch."""
    from model.capture import forward_pass
    from model.capture.torch_attention import Attention

    forward_pass.register()
    session = forward_pass.Session(forward_pass.names_of(network))
    observer = new()
    with _attention(network, forward_pass.IMPLEMENTATION), observer.watching(network):
        seen = _once(network, lambda: forward_pass.run(session, forward))
    dtype = next(network.parameters()).dtype
    found = [Attention(call.module, call, None, True, 1, dtype,
                       reasons=[f"the capture does not know the keyword {word}" for word in call.unknown])
             for call in session.calls]
    if len(observer.found) == len(found):   # torch observed the same calls
        for mine, theirs in zip(found, observer.found, strict=True):
            mine.same_source, mine.number = theirs.same_source, theirs.number
            mine.queries, mine.keys = theirs.queries, theirs.keys
    elif getattr(network.config, "is_encoder_decoder", False):
        raise Unsupported("the side that each of its attention layers reads is unknown")
    return Observation(found, [], results_differ(seen, plain, any(each.sees_nothing.any() for each in found)))


def _observed(network: "nn.Module", forward: Callable[[], object], new: "Callable[[], Observer]",
              plain: object) -> Observation:
    observer = new()
    with observer.watching(network):
        seen = _once(network, forward)
    blind = any(each.sees_nothing.any() for each in observer.found)
    return Observation(observer.found, observer.unread, results_differ(seen, plain, blind) if observer.found else None)


def _once(network: "nn.Module", forward: Callable[[], object]) -> object:
    """Call forward() without gradients or compiled code and return its result. Every call uses the same random numbers
    and leaves the caller's generators and the modules' attributes unchanged."""
    import torch

    devices = {each.device for each in (*network.parameters(), *network.buffers()) if each.device.type == "cuda"}
    compiled = torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
    with seeded(0, devices), torch.no_grad(), compiled, _restoring(network):
        return forward()


@contextmanager
def _restoring(network: "nn.Module") -> Iterator[None]:
    """Restore the modules' attributes after the block, with the contents of lists and dictionaries, such as caches.
    Lazy modules keep what their first pass initialises."""
    modules = [vars(module) for module in network.modules() if not hasattr(module, "cls_to_become")]
    held = [each for module in modules for name, each in module.items()
            if type(each) in (list, dict) and (name == "_buffers" or not name.startswith("_"))]
    before = [(each, each.copy()) for each in (*modules, *held)]
    try:
        yield
    finally:
        for each, content in before:
            each.clear()
            (each.extend if isinstance(each, list) else each.update)(content)


@contextmanager
def _evaluating(network: "nn.Module") -> Iterator[None]:
    """Put the network into evaluation mode (no dropout) within the block, then restore each module's mode."""
    learning = [module for module in network.modules() if module.training]
    try:
        network.eval()
        yield
    finally:
        for module in learning:
            module.training = True


@contextmanager
def _attention(network: "PreTrainedModel", name: str) -> Iterator[None]:
    """Switch a model of transformers to the attention implementation of this name within the block."""
    before = attention_of(network)
    network.set_attn_implementation(name)
    try:
        yield
    finally:
        network.set_attn_implementation(before)


def prove(attention: Attention, layer: Layer) -> tuple[float, float, int]:
    """Compare a layer with the call's real output. Returns (largest difference of weights · value, see
    `model.capture.verify.differences`, or, where a projection sums the heads, relative to the row's largest number;
    largest difference of a row's sum from 1, for rows without a sink; rows compared, over all heads). The differences
    are infinite if the shapes do not match."""
    call = attention.call
    assert call is not None and call.rows is not None and call.outputs is not None
    ours, scale, sums = recompute(layer, call.rows)
    if attention.project is not None:   # the heads are summed
        ours, scale = attention.project(ours), np.abs(call.outputs).max(-1, keepdims=True)
    if ours.shape != call.outputs.shape:
        return math.inf, math.inf, 0
    compared, sees = attention.compared, ~attention.sees_nothing[:, call.rows]
    row_error = float(np.abs(sums - 1)[sees].max(initial=0)) if layer.sink is None else 0.0
    rows = int(compared.sum()) * (1 if attention.project is None else layer.heads)
    return largest(differences(ours, call.outputs, scale).max(2)[compared]), row_error, rows


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference relative to the largest of `theirs`, or infinity if a number is not finite."""
    if not ours.size:
        return 0.0
    error = float(np.abs(ours - theirs).max()) / (float(np.abs(theirs).max()) or 1.0)
    return error if math.isfinite(error) else math.inf


def results_differ(observed: object, unobserved: object, blind: bool = False) -> float | None:
    """Return the largest difference between a module's outputs in two passes, relative to the tensor's largest number:
    NaN if a number is not finite, None if there are no numbers.

    All-zero vectors, which torch's fast path writes for padding, are skipped. If some row has no allowed key (`blind`),
    vectors with NaN are skipped too, because only some of torch's kernels write NaN.
    """
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


def _tensors(value: object) -> Iterator[Tensor]:
    """Yield the numeric tensors in a module's result, at any depth."""
    if isinstance(value, Tensor):
        if value.is_floating_point() and not value.is_nested and not value.is_sparse:
            yield value
        return
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _tensors(each)
