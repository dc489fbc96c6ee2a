"""Run a torch module twice with the same random numbers, once observed and once not, and leave it unchanged."""
import math
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import is_dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from clearhead.model.capture import forward_pass
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.transformers_internals import attention_of
from clearhead.model.capture.verify import differences, recompute
from clearhead.model.core.query import largest, with_arrays
from clearhead.model.core.torch_runs import seeded
from clearhead.model.core.traces import FLOOR
from clearhead.model.look.inputs import tensors_in
from clearhead.model.look.rows import Rows, measure
from clearhead.model.look.torch_attention import UNPROVED, Attention, Observer, Proof, as_numbers

if TYPE_CHECKING:
    from torch import nn

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


def observe(network: "nn.Module", args: tuple, options: dict[str, object], batch: int) -> Observation:
    """Observe the attention of text number `batch` in a call of the network. Models of transformers with another
    attention implementation are switched to torch's for the observed pass, if this leaves their output unchanged."""
    forward, run = partial(network, *args, **options), partial(once, network, inputs=(args, options))
    plain = run(forward)

    def observed(session: forward_pass.Session | None = None) -> Observation:
        """Observe a pass. session: captures the attention function registered for models from a folder, if it is used.
        The passes that measure its rows run in sessions of their own."""
        def in_session(call: Callable[[], object], own: forward_pass.Session | None) -> list[Tensor]:
            return run(call if own is None else partial(forward_pass.run, own, call))

        rows = measure(network, args, options,
                       lambda call: in_session(call, session and forward_pass.Session(session.names)))
        observer = Observer(network, batch, tensors_in([*args, *options.values()]), rows)
        with observer.watching(network):
            seen = in_session(forward, session)
        found = observer.found if session is None else _registered(network, session, observer.found)
        blind = any(each.sees_nothing.any() for each in found)
        return Observation(found, observer.unread if session is None else [],
                           results_differ(seen, plain, blind) if found else None, rows)

    if attention_of(network) not in (None, FUSED):
        forward_pass.register()
        for name in (FUSED, forward_pass.IMPLEMENTATION)[:1 if batch else 2]:   # an unsupported family raises an error
            with suppress(Unsupported, ValueError, KeyError, TypeError, RuntimeError), _attention(network, name):
                one = observed(None if name == FUSED else forward_pass.Session(forward_pass.names_of(network)))
                if one.found and one.agrees:
                    return one
    return observed()


def _registered(network: "nn.Module", session: forward_pass.Session, seen: list[Attention]) -> list[Attention]:
    """Return the calls of the attention function registered for models from a folder, which supports soft-caps and
    sinks. It reads only the first text of a batch. seen: what was observed in the same pass."""
    dtype = next(network.parameters()).dtype
    found = [Attention(call.module, call, None, True, 1, dtype,
                       reasons=[f"the capture does not know the keyword {word}" for word in call.unknown])
             for call in session.calls]
    if len(seen) == len(found):   # torch observed the same calls
        for mine, theirs in zip(found, seen, strict=True):
            mine.same_source, mine.number = theirs.same_source, theirs.number
            mine.queries, mine.behind = theirs.queries, theirs.behind
            mine.keys = theirs.keys.cut(mine.shape[1])   # without a sink
    elif getattr(network.config, "is_encoder_decoder", False):
        raise Unsupported("the side that each of its attention layers reads is unknown")
    return found


def once(network: "nn.Module", forward: Callable[[], object], inputs: object) -> list[Tensor]:
    """Call forward() in evaluation mode, without gradients or compiled code, and return copies of its numeric tensors.
    Every call uses the same random numbers and leaves the caller's generators, the modules' attributes and the inputs
    as they were."""
    import torch

    devices = {each.device for each in (*network.parameters(), *network.buffers()) if each.device.type == "cuda"}
    with ExitStack() as undo:
        undo.callback(random.setstate, random.getstate())
        undo.callback(np.random.set_state, np.random.get_state())
        for module in (each for each in network.modules() if each.training):
            undo.callback(setattr, module, "training", True)
            module.training = False   # not by eval(), which exported modules refuse and some adapters use to merge
        if "torch._dynamo" in sys.modules:
            undo.enter_context(torch.compiler.set_stance("force_eager"))
        with seeded(0, devices), torch.no_grad(), restoring(network, inputs):
            return [each.clone() for each in _tensors(forward())]


@contextmanager
def restoring(*objects: object) -> Iterator[None]:
    """Restore objects after the block, bit for bit, with all tensors, arrays, lists, dictionaries, sets, deques and
    random generators that can be reached from their attributes. Parameters are not copied. Lazy modules keep what their
    first pass initialises."""
    import torch

    seen: dict[int, object] = {}
    waiting = list(objects)
    with ExitStack() as undo:
        while waiting:
            each = waiting.pop()
            if id(each) in seen or isinstance(each, torch.nn.Parameter | type | ModuleType) or hasattr(
                    type(each), "cls_to_become"):
                continue
            seen[id(each)] = each
            undo.callback(_restorer(each))
            held = getattr(each, "__dict__", None)
            if isinstance(each, dict | list | deque | tuple):
                waiting += each.values() if isinstance(each, dict) else each
            if isinstance(held, dict) and not isinstance(each, Tensor):
                waiting.append(held)
        yield


def _restorer(each: object) -> Callable[[], object]:
    """Return a function that gives an object the content that it has now."""
    import torch

    if isinstance(each, Tensor):
        return partial(_restore, each, each.detach().clone()) if has_bytes(each) else lambda: None
    if isinstance(each, np.ndarray):
        return partial(_restore_array, each, each.copy())
    if isinstance(each, torch.Generator):
        return partial(each.set_state, each.get_state())
    if isinstance(each, random.Random):
        return partial(each.setstate, each.getstate())
    if isinstance(each, np.random.Generator):
        return partial(setattr, each.bit_generator, "state", each.bit_generator.state)
    return partial(_refill, each, copy(each)) if isinstance(each, dict | list | set | deque) else lambda: None


def _restore(tensor: Tensor, content: Tensor) -> None:
    if tensor.shape != content.shape:
        tensor.data = content
    elif not bytes_of(tensor).equal(bytes_of(content)):   # an unchanged tensor may be read-only
        tensor.data.copy_(content)


def _restore_array(array: np.ndarray, content: np.ndarray) -> None:
    if array.tobytes() != content.tobytes():
        array[...] = content


def _refill(container: "dict | list | set | deque", content: "dict | list | set | deque") -> None:
    container.clear()
    if isinstance(container, dict):
        for name in content:   # not by update(), which outputs of transformers refuse
            container[name] = content[name]   # type: ignore[index]
    else:
        (container.update if isinstance(container, set) else container.extend)(content)


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


def prove(attention: Attention) -> Proof:
    """Compare a call's weights · value with its real output, and the sums of its rows with 1 if it has no sink. The
    difference is that of `model.capture.verify.differences` or, where a projection sums the heads, relative to the
    row's largest number. Both are infinite if the shapes do not match. Raises UserError or ValueError if the call's
    numbers make no layer."""
    call = attention.call
    if call is None:
        assert attention.weights is not None
        return Proof(0.0, float(abs(attention.weights.sum(-1) - 1)[~attention.sees_nothing].max(initial=0)), 0)
    layer = call.layer(0)
    assert call.rows is not None and call.outputs is not None
    ours, scale, sums = recompute(layer, call.rows)
    if attention.project is not None:   # the heads are summed
        ours, scale = attention.project(ours), np.abs(call.outputs).max(-1, keepdims=True)
    if ours.shape != call.outputs.shape:
        return UNPROVED
    compared, sees = attention.compared, ~attention.sees_nothing[:, call.rows]
    row_error = float(np.abs(sums - 1)[sees].max(initial=0)) if layer.sink is None else 0.0
    rows = int(compared.sum()) * (1 if attention.project is None else layer.heads)
    return Proof(largest(differences(ours, call.outputs, scale).max(2)[compared]), row_error, rows)


def results_differ(all_ours: list[Tensor], all_theirs: list[Tensor], blind: bool = False) -> float | None:
    """Return the largest difference between a module's outputs in two passes, relative to a vector's largest number:
    NaN if a number is not finite, None if there are no numbers. Vectors below FLOOR of the largest may be differences
    of large ones.

    All-zero vectors, which torch's fast path writes for padding, are skipped. If some row has no allowed key (`blind`),
    vectors with NaN are skipped too, because only some of torch's kernels write NaN.
    """
    if not all_ours and not all_theirs:
        return None
    if [each.shape for each in all_ours] != [each.shape for each in all_theirs]:
        return math.inf
    errors = []
    for pair in zip(all_ours, all_theirs, strict=True):
        if not pair[0].numel():
            errors.append(0.0)
            continue
        ours, theirs = (each.reshape(-1, each.shape[-1]) for each in map(np.atleast_2d, map(as_numbers, pair)))
        if blind and pair[0].ndim > 1:
            known = ~(np.isnan(ours) | np.isnan(theirs)).any(-1)
            ours, theirs = ours[known], theirs[known]
        if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
            return math.nan
        size = np.abs(theirs).max(-1, keepdims=True)
        if size.any():   # otherwise all vectors are zero, and none is left out
            ours, theirs, size = (each[size[:, 0] > 0] for each in (ours, theirs, size))
        if len(size):
            floor = np.maximum(size, FLOOR * size.max())
            errors.append(largest((np.abs(ours - theirs) / np.where(floor > 0, floor, 1)).max(-1)))
    return max(errors, default=None)


def _tensors(result: object) -> Iterator[Tensor]:
    """Yield the numeric tensors in a module's result, at any depth."""
    if isinstance(result, Tensor):
        if result.is_floating_point() and not result.is_nested and not result.is_sparse:
            yield result
        return
    parts = vars(result) if is_dataclass(result) and not isinstance(result, type) else result
    for each in parts.values() if isinstance(parts, Mapping) else parts if isinstance(parts, list | tuple) else ():
        yield from _tensors(each)
