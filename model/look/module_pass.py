"""Run a torch module twice with the same random numbers, once observed and once not, and leave it unchanged."""
import math
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import is_dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.transformers_internals import attention_of
from clearhead.model.capture.verify import differences, recompute
from clearhead.model.core.query import largest, with_arrays
from clearhead.model.core.record import Layer
from clearhead.model.core.torch_runs import seeded
from clearhead.model.core.traces import FLOOR
from clearhead.model.look.inputs import tensors_in
from clearhead.model.look.rows import Rows, measure
from clearhead.model.look.torch_attention import Attention, as_numbers

if TYPE_CHECKING:
    from torch import nn

    from clearhead.model.look.torch_attention import Observer


Forward = Callable[[], object]
Run = Callable[[Forward], list[Tensor]]
FUSED = "sdpa"   # transformers' name for torch's fused attention


@with_arrays
class Observation:
    """The attention observed in a module."""

    found: "list[Attention]"   # in the order of the pass
    unread: list[str]          # attention that cannot be read: the module's name and the reason
    # largest difference between the outputs of the observed and an unobserved pass, relative to the largest number;
    # NaN if either contains NaN or infinity, None if there is no number to compare
    difference: float | None
    rows: Rows                 # what was measured of the rows

    @property
    def tolerance(self) -> float:
        """The largest difference between two passes that counts as equal. It grows like a random walk of rounding
        errors."""
        return max((each.tolerance for each in self.found), default=0.0) * math.sqrt(len(self.found))

    @property
    def agrees(self) -> bool:
        """Whether both passes had the same output."""
        return self.difference is not None and self.difference <= self.tolerance


def observe(network: "nn.Module", args: tuple, options: dict[str, Any], batch: int) -> Observation:
    """Observe the attention of text number `batch` in a call of the network. Models of transformers with another
    attention implementation are switched to torch's for the observed pass, if this leaves their output unchanged."""
    from clearhead.model.look.torch_attention import Observer

    forward = partial(network, *args, **options)
    run = partial(once, network, inputs=(args, options))

    def new(run: Run) -> Observer:
        return Observer(network, batch, tensors_in([*args, *options.values()]), measure(network, args, options, run))

    plain = run(forward)
    if attention_of(network) not in (None, FUSED):
        for look in (_fused, _registered) if batch == 0 else (_fused,):
            with suppress(Unsupported, ValueError, KeyError, TypeError, RuntimeError):   # unsupported family
                found = look(network, forward, run, new, plain)
                if found.found and found.agrees:
                    return found
    return _observed(network, forward, run, new, plain)


def _fused(network: "nn.Module", forward: Forward, run: Run, new: "Callable[[Run], Observer]",
           plain: list[Tensor]) -> Observation:
    """Observe a model of transformers with torch's fused attention."""
    with _attention(network, FUSED):
        return _observed(network, forward, run, new, plain)


def _registered(network: "nn.Module", forward: Forward, run: Run, new: "Callable[[Run], Observer]",
                plain: list[Tensor]) -> Observation:
    """Observe a model of transformers with the attention function registered for models from a folder, which supports
    soft-caps and sinks. Reads only the first text of a batch."""
    from clearhead.model.capture import forward_pass
    from clearhead.model.look.torch_attention import Attention

    forward_pass.register()
    session = forward_pass.Session(forward_pass.names_of(network))
    with _attention(network, forward_pass.IMPLEMENTATION):
        names = forward_pass.names_of(network)
        observer = new(lambda call: run(lambda: forward_pass.run(forward_pass.Session(names), call)))
        with observer.watching(network):
            seen = run(lambda: forward_pass.run(session, forward))
    dtype = next(network.parameters()).dtype
    found = [Attention(call.module, call, None, True, 1, dtype,
                       reasons=[f"the capture does not know the keyword {word}" for word in call.unknown])
             for call in session.calls]
    if len(observer.found) == len(found):   # torch observed the same calls
        for mine, theirs in zip(found, observer.found, strict=True):
            mine.same_source, mine.number = theirs.same_source, theirs.number
            mine.queries, mine.behind = theirs.queries, theirs.behind
            mine.keys = theirs.keys._replace(rows=theirs.keys.rows[:mine.shape[1]])   # without a sink
    elif getattr(network.config, "is_encoder_decoder", False):
        raise Unsupported("the side that each of its attention layers reads is unknown")
    return Observation(found, [], results_differ(seen, plain, any(each.sees_nothing.any() for each in found)),
                       observer.rows)


def _observed(network: "nn.Module", forward: Forward, run: Run, new: "Callable[[Run], Observer]",
              plain: list[Tensor]) -> Observation:
    observer = new(run)
    with observer.watching(network):
        seen = run(forward)
    blind = any(each.sees_nothing.any() for each in observer.found)
    return Observation(observer.found, observer.unread, results_differ(seen, plain, blind) if observer.found else None,
                       observer.rows)


def once(network: "nn.Module", forward: Callable[[], object], inputs: object) -> list[Tensor]:
    """Call forward() in evaluation mode, without gradients or compiled code, and return copies of its numeric tensors.
    Every call uses the same random numbers and leaves the caller's generators, the modules' attributes and the inputs
    as they were."""
    import torch

    devices = {each.device for each in (*network.parameters(), *network.buffers()) if each.device.type == "cuda"}
    compiled = torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
    learning = [module for module in network.modules() if module.training]
    drawing = random.getstate(), np.random.get_state()
    try:
        for module in learning:
            module.training = False   # not by eval(), which exported modules refuse and some adapters use to merge
        with seeded(0, devices), torch.no_grad(), compiled, restoring(network, inputs):
            return [each.clone() for each in _tensors(forward())]
    finally:
        for module in learning:
            module.training = True
        random.setstate(drawing[0])
        np.random.set_state(drawing[1])


@contextmanager
def restoring(*objects: object) -> Iterator[None]:
    """Restore objects after the block, bit for bit, with all tensors, arrays, lists, dictionaries, sets, deques and
    random generators that can be reached from their attributes. Parameters are not copied. Lazy modules keep what their
    first pass initialises."""
    import torch

    kept: dict[int, tuple[Any, Any]] = {}
    waiting: list[Any] = list(objects)
    while waiting:
        each = waiting.pop()
        if id(each) in kept or isinstance(each, torch.nn.Parameter | type | ModuleType) or hasattr(
                type(each), "cls_to_become"):
            continue
        held = getattr(each, "__dict__", None)
        if isinstance(each, Tensor):
            content = each.detach().clone() if has_bytes(each) else None
        elif isinstance(each, torch.Generator):
            content = each.get_state()
        elif isinstance(each, random.Random):
            content = each.getstate()
        elif isinstance(each, np.random.Generator):
            content = each.bit_generator.state
        elif isinstance(each, dict | list | set | deque | np.ndarray):
            content = copy(each)
        elif isinstance(each, tuple) or isinstance(held, dict):
            content = None
        else:
            continue
        kept[id(each)] = each, content
        if isinstance(each, dict | list | deque | tuple):
            waiting += each.values() if isinstance(each, dict) else each
        if isinstance(held, dict) and not isinstance(each, Tensor):
            waiting.append(held)
    try:
        yield
    finally:
        for each, content in kept.values():
            _restore(each, content)


def _restore(each: Any, content: Any) -> None:
    """Give an object the content that it had, if it has another."""
    if content is None:
        return
    if isinstance(each, Tensor):
        if each.shape != content.shape:
            each.data = content
        elif not bytes_of(each).equal(bytes_of(content)):
            each.data.copy_(content)
    elif isinstance(each, np.ndarray):
        if each.tobytes() != content.tobytes():
            each[...] = content
    elif isinstance(each, dict | list | set | deque):
        each.clear()
        (each.update if isinstance(each, dict | set) else each.extend)(content)
    elif isinstance(each, random.Random):
        each.setstate(content)
    elif isinstance(each, np.random.Generator):
        each.bit_generator.state = content
    else:
        each.set_state(content)


def has_bytes(tensor: Tensor) -> bool:
    """Return whether the tensor's numbers are in memory as they are, not sparse, nested, quantised or absent."""
    import torch

    return tensor.layout is torch.strided and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta)


def bytes_of(tensor: Tensor) -> Tensor:
    """Return the bytes of a tensor. Not an array, because torch cannot resize memory shared with NumPy."""
    import torch

    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)


@contextmanager
def _attention(network: "nn.Module", name: str) -> Iterator[None]:
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
    """Return the largest difference of vectors (…, d) relative to each one's largest number, or infinity if a number is
    not finite. Vectors below FLOOR of the largest may be differences of large ones."""
    if not ours.size:
        return 0.0
    size = np.abs(np.atleast_1d(theirs)).max(-1, keepdims=True)
    size = np.maximum(size, FLOOR * size.max())
    return largest((np.abs(ours - theirs) / np.where(size > 0, size, 1)).max(-1).ravel())


def results_differ(all_ours: list[Tensor], all_theirs: list[Tensor], blind: bool = False) -> float | None:
    """Return the largest difference between a module's outputs in two passes, relative to a vector's largest number:
    NaN if a number is not finite, None if there are no numbers.

    All-zero vectors, which torch's fast path writes for padding, are skipped. If some row has no allowed key (`blind`),
    vectors with NaN are skipped too, because only some of torch's kernels write NaN.
    """
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
