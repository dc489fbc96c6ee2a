"""Verify captured attention: at load time against the model's own eager attention, and for every answer against the
model's real output."""
import itertools
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from clearhead.model.capture import forward_pass, trace
from clearhead.model.capture.calls import Enough, ModuleCall, block_name, watch_calls
from clearhead.model.capture.forward_pass import Call, Unsupported
from clearhead.model.capture.transformers_internals import mamba_beside, mixers, set_attention
from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Dense, Full
from clearhead.model.core.memory import Shape
from clearhead.model.core.query import Edit, Kind, Patch, Silence, first_line, frozen, head_label, largest
from clearhead.model.core.record import Layer, Reported, Verification
from clearhead.model.core.torch_runs import for_this_thread

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel


End = TypeVar("End")
SMALLEST = 1e-30   # smaller numbers are compared with this one, because float32 cannot hold their digits


def _slack(layer: Layer, rows: np.ndarray | slice, keys: slice, rounding: float) -> np.ndarray:
    """Return how far the rounding of scores, and of weights, can move each weight (head, row, key). A score is rounded
    after the product, the scale and the mask, each time by half of `rounding`; shifts of scores by up to d move a
    weight w by at most w (1 - w) (exp(2 d) - 1)."""
    weights = layer.first_weights(slice(None), rows, keys)
    shift = 2 * rounding * np.abs(layer.scores(slice(None), rows, keys)).max(2, keepdims=True)
    moved = weights * (1 - weights) * np.expm1(2 * np.minimum(shift, 1)) + rounding * weights
    slack = np.asarray(np.minimum(moved, MOST_SLACK), np.float32)
    return slack if layer.minus is None else slack + np.float32(abs(layer.minus_factor)) * _slack(
        layer.minus, rows, keys, rounding)


def differences(ours: np.ndarray, theirs: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the differences of numbers, each relative to its own scale: the sum of the absolute terms that it is the
    sum of, which bounds its rounding error. Small heads, rows and dimensions are thus compared as closely as large
    ones."""
    with np.errstate(invalid="ignore"):   # infinity divided by infinity
        return np.asarray(np.abs(ours - theirs) / np.maximum(np.maximum(scale, np.abs(theirs)), SMALLEST))


def recompute(layer: Layer, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute weights · value and |weights| · |value| (head, row, d_v), and the weights' sums (head, row), for some
    queries; all are 0 for rows without an allowed key."""
    weights = layer.weights(slice(None), rows, slice(0, layer.key.shape[1]))
    return layer.mix(weights, layer.value), layer.mix(np.abs(weights), np.abs(layer.value)), weights.sum(-1)


FINE = 1e-6       # rounding of float32 and finer types is smaller
TOLERANCE = 1e-4  # for float32; summing in another order changes the tested models' outputs by about 1e-5
STACKED = 2**16    # largest number of values of a layer that is checked together with others
MOST_SLACK = 0.1   # largest difference of a weight that is put down to rounding
CallId = tuple[str, int]   # module name, and number of earlier calls to it in the pass


@frozen
class Wiring:
    """The result of probing a model: the place of each attention layer in the model, and the difference of the capture
    from the model's own eager weights."""

    slots: dict[CallId, forward_pass.Slot]   # the slot of each call
    shapes: dict[CallId, Shape]              # the shape of each call
    load_error: float                        # largest difference of a weight from the eager one
    row_sum_error: float                     # largest difference of a row's sum, including the sink's share, from 1
    reasons: tuple[str, ...]                 # clauses on why the capture is wrong; empty if it is correct
    gated: frozenset[str] = frozenset()      # names of the W_O modules that read the heads' outputs after a gate
    same: bool = True                        # whether rounding explains the largest difference from the eager weights
    # by module of attention: the Mamba module beside it, and the factors with which the layer adds attention and it
    beside: dict[str, tuple[str, float, float]] = field(default_factory=dict)
    # layers without softmax attention in each stack: (number, kind)
    others: dict[Kind, tuple[tuple[int, str], ...]] = field(default_factory=dict)

    def has(self, kind: Kind) -> bool:
        """Return whether the model has attention of this kind."""
        return any(slot.kind is kind for slot in self.slots.values())

    def heads(self, kind: Kind, index: int) -> int:
        """Return the layer's number of heads, or 0 if there is no such layer."""
        return sum(self.shapes[key].heads for key, slot in self.slots.items()
                   if (slot.kind, slot.index) == (kind, index))


def wire(network: "PreTrainedModel", forward: Callable[[], object], lengths: tuple[int, int | None],
         part: str = "") -> Wiring:
    """Run a probe captured and eager, and compare every weight of every head; if they differ, try once more with every
    mask built explicitly.

    forward() runs the network on the probe; lengths are its numbers of source and, for encoder–decoders, target tokens,
    which must differ; part: the name of the part of the network whose attention is captured. No other thread may use
    the network meanwhile, because its attention implementation is switched; the implementation with the better result
    remains. Raises Unsupported if the network cannot be captured.
    """
    names = forward_pass.names_of(network, part)
    best = _wire(network, forward, lengths, names, forward_pass.IMPLEMENTATION)
    if not best.same:
        second = _wire(network, forward, lengths, names, forward_pass.MASKED)
        best = second if second.same else best
    return best


def _wire(network: "PreTrainedModel", forward: Callable[[], object], lengths: tuple[int, int | None],
          names: dict[int, str], implementation: str) -> Wiring:
    session = forward_pass.Session(names)
    try:
        set_attention(network, implementation)
        with watch_calls(network) as modules:
            forward_pass.run(session, forward)
    except Unsupported:
        raise
    except Exception as error:
        raise Unsupported(f"it does not run with our attention function ({first_line(error, 200)})") from error
    if not session.calls:
        raise Unsupported("it does not call the attention function that transformers lets us register")
    slots = _slots(session.calls, lengths)
    layers = {_id(call): call.layer(slots[_id(call)].index) for call in session.calls}
    errors, row_sum_error = _against_eager(network, forward, layers, names, implementation,
                                           session.calls[0].rounding > FINE)
    reasons = [f"the capture does not know the keyword {word}"
               for word in sorted({word for call in session.calls for word in call.unknown})]
    reasons += [f"the model gives no eager weights for {module}" for module, _ in sorted(set(layers) - set(errors))]
    load_error, beyond, worst = max(((error, more, key[0]) for key, (error, more) in errors.items()),
                                    key=lambda each: each[1], default=(math.inf, math.inf, ""))
    same = beyond <= TOLERANCE
    if errors and not same:
        reasons.append(f"{worst} differs by {load_error:.2g} from the model's own eager weights")
    shapes = {_id(call): _shape(call) for call in session.calls}
    load_error = max((error for error, _ in errors.values()), default=math.inf)
    found = Wiring(slots, shapes, load_error, row_sum_error, tuple(reasons), _gated(layers, modules), same,
                   mamba_beside(network), _others(network, slots.values()))
    return replace(found, reasons=check_answer(session.calls, [*layers.values()], found).reasons)


def _gated(layers: dict[CallId, Layer], modules: dict[str, ModuleCall]) -> frozenset[str]:
    """Return the names of the matrices that read the heads' outputs of a probe after a gate."""
    found = set()
    for (module, _), layer in layers.items():
        own = [each for name, each in modules.items() if name.startswith(module + ".")
               and len(each.input) == len(each.output) == layer.shape[1]]
        reader, gate = trace.reader_of(layer.head_outputs(slice(0, layer.shape[1])).swapaxes(0, 1), own,
                                       own_values(layer))
        if reader is not None and gate is not None:
            found.add(reader.name)
    return frozenset(found)


def own_values(layer: Layer) -> np.ndarray | None:
    """Return the values of the queries' own tokens, (q, head, d_v), or None where these are not the keys."""
    values = layer.value[layer.group(np.arange(layer.heads))].swapaxes(0, 1)
    return values if len(values) == layer.shape[1] else None


def _id(call: Call) -> CallId:
    return call.module, call.occurrence


def _shape(call: Call) -> Shape:
    """Return the call's sizes. Eager attention, if needed, holds about three n² matrices per head and a bias two; a
    mask adds half a matrix unless a kernel implements its rule."""
    if call.softcap is not None or call.sink is not None:
        quadratic = 3.0
    elif call.bias is not None:
        quadratic = 2.0
    else:
        quadratic = 0.0 if isinstance(call.allowed, Causal | Full) else 0.5
    return Shape(len(call.query), len(call.key), call.query.shape[2], call.value.shape[2], quadratic)


def _slots(calls: list[Call], lengths: tuple[int, int | None]) -> dict[CallId, forward_pass.Slot]:
    """Return the kind and layer number of each call, identified by shape, since the probe's two sides differ in
    length."""
    shapes, kinds = {shape: kind for kind, shape in ends(*lengths).items()}, {}
    for call in calls:
        shape = call.query.shape[1], call.key.shape[1]
        if shape not in shapes:
            tokens = "{} tokens" if lengths[1] is None else "{} and {} tokens on its two sides"
            raise Unsupported(f"{call.module} attends from {shape[0]} to {shape[1]} positions, but the input has "
                              f"{tokens.format(*lengths)}")
        kinds[_id(call)] = shapes[shape]
    if lengths[1] is None and not any(call.allowed.block(slice(0, 1), slice(1, lengths[0])).any() for call in calls):
        kinds = dict.fromkeys(kinds, Kind.CAUSAL)
    slots = {}
    for kind in Kind:
        members = [key for key in kinds if kinds[key] == kind]
        numbers = [number for module, _ in members if (number := layer_number(module)) is not None]
        if len(set(numbers)) != len(members):
            numbers = list(range(len(members)))
        side = "target" if kind is Kind.CAUSAL and lengths[1] is not None else "source"
        slots.update({key: forward_pass.Slot(kind, number, *key, side)
                      for key, number in zip(members, numbers, strict=True)})
    return slots


def ends(source: End, target: End) -> dict[Kind, tuple[End, End]]:
    """Return the two sides that attention of each kind joins, queries and keys."""
    return {Kind.SELF: (source, source), Kind.CAUSAL: (target, target), Kind.CROSS: (target, source)}


def layer_number(module: str) -> int | None:
    """Return the layer number: the first number in the module's name, such as 2 in
    decoder.block.2.layer.0.SelfAttention."""
    number = re.search(r"(?:^|\.)(\d+)(?:\.|$)", module)
    return int(number.group(1)) if number else None


# what the names of a layer's modules say about it, checked in this order: Mamba layers contain convolutions, too
MIXERS = {"mamba": "mamba", "linear attention": "delta|lightning|linear_?att", "recurrence": "rg_?lru|recurrent",
          "convolution": "conv", "cross-attention": "cross_att", "self-attention": "self_att",
         "feed-forward": "mlp|moe|feed_?forward|ffn"}


def _mixer(block: "nn.Module") -> str:
    """Return what a layer has instead of its stack's softmax attention, by the names and classes of its modules."""
    names = " ".join(f"{name} {type(module).__name__}" for name, module in block.named_modules()).lower()
    return next((kind for kind, said in MIXERS.items() if re.search(said, names)), "other")


def _others(network: "PreTrainedModel",
            slots: Collection[forward_pass.Slot]) -> dict[Kind, tuple[tuple[int, str], ...]]:
    """Return, for each kind of attention, the layers of its stack without it, (number, what the layer is instead)."""
    from torch import nn

    stacks: dict[tuple[str, Kind], list[forward_pass.Slot]] = {}
    for slot in slots:
        if layer_number(slot.module) is not None:
            stacks.setdefault((block_name(slot.module).rpartition(".")[0], slot.kind), []).append(slot)
    found = {}
    for (stack, kind), members in stacks.items():
        numbers, blocks = [slot.index for slot in members], network.get_submodule(stack)
        own = numbers == sorted(numbers) and all(slot.index == layer_number(slot.module) for slot in members)
        if isinstance(blocks, nn.ModuleList) and own:
            found[kind] = tuple((index, _mixer(block)) for index, block in enumerate(blocks) if index not in numbers)
    return found


def _against_eager(network: "PreTrainedModel", forward: Callable[[], object], layers: dict[CallId, Layer],
                   names: dict[int, str], implementation: str,
                   coarse: bool) -> tuple[dict[CallId, tuple[float, float]], float]:
    """Return each attention call's largest difference from the model's own eager weights, that beyond rounding, and the
    largest difference of a row's sum (including the sink's share) from 1. coarse: whether the pass is in 16 bits, where
    two passes differ by their rounding: the queries and keys are then those of the eager pass itself."""
    errors: dict[CallId, tuple[float, float]] = {}
    session = forward_pass.Session(names if coarse else {})
    sums: list[float] = [0.0]
    counter = forward_pass.Session(names)

    def compare(module: "nn.Module", _arguments: tuple, output: object) -> None:
        key = counter.identify(module)
        seen = {_id(call): call for call in session.calls}.get(key)
        layer = seen.layer(0) if seen else None if coarse else layers.get(key)
        halves = 1 if layer is None or layer.minus is None else 2
        weights = [part for part in (output if isinstance(output, tuple) else ())   # T5 returns its bias before them
                   if layer and getattr(part, "shape", None) == (1, halves * layer.heads, *layer.shape[1:])]
        if layer and weights:
            theirs, rounding = weights[-1][0].float().cpu().numpy(), seen.rounding if seen else 2**-23
            if layer.minus is not None:
                theirs = theirs[:layer.heads] - np.float32(layer.minus_factor) * theirs[layer.heads:]
            error, beyond, total = _compare(layer, theirs, rounding)
            errors[key] = error, beyond
            sums.append(total)

    with ExitStack() as hooks:
        for name in {name for name, _ in layers}:
            hooks.enter_context(network.get_submodule(name).register_forward_hook(compare))
        hooks.callback(set_attention, network, implementation)
        set_attention(network, forward_pass.EAGER if coarse else "eager")
        forward_pass.run(session, forward)
    return errors, max(sums)


def _compare(layer: Layer, weights: np.ndarray, rounding: float) -> tuple[float, float, float]:
    """Compare our weights with the model's, computed in a type with this rounding. Returns (largest difference, inside
    and outside the mask; the same beyond what rounding explains; largest difference of the sum of one of our rows,
    including the sink's share, from 1).

    Some families (Granite SWA) spread the sink's share over the reported weights and subtract it from the output later;
    ours are then spread the same way for the comparison. The outputs verify the share itself.
    """
    errors, beyond, row_errors = [0.0], [0.0], [0.0]
    spread = layer.sink is not None and float(np.abs(weights.sum(-1) - 1).max()) <= TOLERANCE + 4 * rounding
    for rows, keys, block in heads.weight_blocks(layer):
        ours = np.zeros((layer.heads, block.shape[1], layer.shape[2]), np.float32)
        ours[:, :, keys] = block / block.sum(-1, keepdims=True) if spread else block
        far = np.abs(ours - weights[:, rows])
        errors.append(float(far.max()))
        if rounding > FINE:
            far[:, :, keys] -= _slack(layer, rows, keys, rounding)
        beyond.append(float(far.max()))
        whole = 1 - layer.minus_factor if layer.sink is None else weights[:, rows].sum(-1)
        row_errors.append(float(np.abs(ours.sum(-1) - whole).max()))
    return largest(errors), largest(beyond), largest(row_errors)


SHORT = 5         # tokens of the text whose rows are measured; one fewer on the target side
BLIND = 1e-5      # a smaller relative change of a row may be rounding
COARSE = 4        # and so may, with 16 bits, a change of up to this many times their rounding
OWN = 0.25, 0.01  # smallest change of a row with its own token, relative to its largest: first layer, other layers
APART = 0.02      # smallest distance in tokens between the centres of the tokens with which neighbouring rows change


def misplaced(network: "PreTrainedModel", forward: Callable[..., object], tensors: "Mapping[str, Tensor]",
              wiring: Wiring, part: str = "") -> str:
    """Return a clause about the first row of queries, keys or values that does not stand for the token at its position,
    or "" if all do. Models that mix neighbouring tokens before attention pass if each row changes with its own token.

    forward(**tensors) runs the network; tensors: those of the probe, each (1, token). The network runs once, on a batch
    of copies of a short text: the first is unchanged, and each of the others differs in one token. So that changes do
    not spread between tokens, attention and other mixers return their output for the first copy, altered only in the
    rows whose queries or inputs changed.
    """
    import torch

    chosen = torch.cat((torch.zeros(1, SHORT), torch.eye(SHORT))).to(network.device, torch.bool)
    copies = {}
    for name, each in tensors.items():
        copies[name] = short = each[:, :SHORT - name.startswith("decoder")].repeat(SHORT + 1, 1)
        if name.endswith("input_ids"):
            copies[name] = torch.where(chosen[:, :short.shape[1]], short.roll(1, 1), short)
    found: list[str] = []
    seen: set[Kind] = set()

    def read(slot: forward_pass.Slot, parts: "tuple[Tensor, ...]", output: "Tensor") -> "Tensor":
        sides = [_changes(each.transpose(1, 2).flatten(2)) for each in parts]
        for side, share in zip(("queries", "keys", "values"), sides, strict=True):
            # an encoder that is not captured has mixed them
            mixed = slot.kind is Kind.CROSS and side != "queries" and not wiring.has(Kind.SELF)
            found.extend(f"row {row} of the {side} of {slot.module} does not stand for token {row}"
                         for row in _misplaced(share, OWN[slot.kind in seen], mixed))
        seen.add(slot.kind)
        if sum(session.counts.values()) == len(wiring.slots):
            raise Enough
        return _held(output, sides[0])

    def mix(_module: "nn.Module", arguments: tuple, options: dict[str, object], output: Any) -> Any:
        made = output if isinstance(output, torch.Tensor) else output[0]
        given = next((each for each in (*arguments, *options.values()) if isinstance(each, torch.Tensor)
                      and each.is_floating_point() and each.shape[:-1] == made.shape[:-1]), None)
        if given is None:
            return None
        made = _held(made, _changes(given))
        return made if isinstance(output, torch.Tensor) else (made, *output[1:])

    session = forward_pass.Session(forward_pass.names_of(network, part), wiring.slots, tap=read)
    try:
        with ExitStack() as hooks, suppress(Enough):
            for each in mixers(network):
                hooks.enter_context(each.register_forward_hook(for_this_thread(mix), with_kwargs=True))
            forward_pass.run(session, lambda: forward(**copies))
    except Exception as error:
        return f"which token each row stands for could not be measured ({first_line(error, 200)})"
    return found[0] if found else ""


def _changes(rows: "Tensor") -> "Tensor":
    """Return the relative change of each row of (text, row, d) from the first text, (text, row): the root mean square
    over d, each number relative to the largest of its column. It is 0 where it may be rounding."""
    import torch

    size = rows[0].abs().amax(0).clamp_min(SMALLEST)
    share = ((rows - rows[0]) / size).float().square().mean(-1).sqrt()
    return share.masked_fill(share <= max(BLIND, COARSE * torch.finfo(rows.dtype).eps * (rows.element_size() < 4)), 0)


def _held(output: "Tensor", changes: "Tensor") -> "Tensor":
    """Return the output for the first text, repeated for every text, (text, row, …), with rows that changed turned in
    another direction, because a norm would undo a change in length."""
    import torch

    pattern = torch.linspace(0.5, 1.5, output.shape[-1], device=output.device).to(output.dtype)
    moved = (changes > 0).view(*changes.shape, *[1] * (output.ndim - 2))
    return torch.where(moved, output[:1] * pattern, output[:1])


def _misplaced(changes: "Tensor", least: float, mixed: bool) -> list[int]:
    """Return the rows that do not stand for their tokens. changes: (text, row); least: smallest change of a row with
    its own token, relative to its largest; mixed: whether attention that is not captured has mixed the tokens
    before."""
    import torch

    share = changes[1:] / changes[1:].amax(0).clamp_min(SMALLEST)   # (token, row)
    tokens, moves = torch.arange(len(share), device=share.device)[:, None], share.any(0)
    wrong = (share.diagonal() < least) & (moves | (least == OWN[0]))
    middles = (tokens * share ** 2).sum(0) / (share ** 2).sum(0)   # of the tokens with which each row changes
    wrong[1:] |= (middles.diff() < APART) & moves[1:] & moves[:-1] & (not mixed)
    return [int(row) for row in wrong.nonzero()]


def _stacked(calls: list[Call], layers: list[Layer],
             edited: Collection[CallId]) -> Iterator[tuple[Call, Layer, np.ndarray]]:
    """Yield each layer with its call and its sampled outputs. Consecutive small layers that differ only in their
    numbers are joined into one, with their heads side by side: numpy takes about as long for all of them as for one.
    Those of the calls `edited` remain separate."""
    def settings(pair: tuple[Call, Layer]) -> Hashable:
        call, layer = pair
        own = (layer.bias, layer.sink, layer.temperature, layer.replaced, layer.minus)
        if (_id(call) in edited or layer.value.size > STACKED or any(each is not None for each in own)
                or isinstance(layer.allowed, Dense)):
            return id(layer)
        return layer.query.shape, layer.value.shape, layer.scale, layer.softcap, layer.allowed, call.rounding

    for _, group in itertools.groupby(zip(calls, layers, strict=True), settings):
        some, alike = zip(*group, strict=True)
        layer, outputs = alike[0], cast(np.ndarray, some[0].outputs)
        if len(alike) > 1:
            layer = replace(layer, gate=None, **{name: np.concatenate([getattr(each, name) for each in alike])
                                                 for name in ("query", "key", "value")})
            outputs = np.concatenate([call.outputs for call in some])
        yield some[0], layer, outputs


def check_answer(calls: list[Call], layers: list[Layer], wiring: Wiring, edits: Iterable[Edit] = (),
                 patched: "Mapping[Patch, Tensor] | None" = None) -> Verification:
    """Recompute weights · value for a few rows of every head and compare them with the attention output of the same
    pass, in O(n), and what edits put in place of heads with what it should be. Rows without an allowed key are skipped,
    because kernels return 0, NaN or a mean for them. The status is verified, computed (heads whose temperature is so
    low that the rounding of scores alone explains the difference) or refused.

    edits: those of the pass. patched: each patched head's output (q, d_v) in the other pass.
    """
    errors, allowed, beyond, row_errors, rows, blurred = [0.0], [TOLERANCE], [0.0], [0.0], 0, []
    replacing: dict[CallId, list[Silence | Patch]] = {}
    for edit in (edit for edit in edits if isinstance(edit, Silence | Patch)):
        for key, slot in wiring.slots.items():
            if (edit.kind, edit.layer) == (slot.kind, slot.index):
                replacing.setdefault(key, []).append(edit)
    for call, layer, outputs in _stacked(calls, layers, replacing):
        kept = cast(np.ndarray, call.rows)
        mixed, scale, sums = recompute(layer, kept)
        sees = ~layer.sees_nothing[:, kept]
        found = np.where(sees, differences(mixed, outputs, scale).max(2), 0)
        keys, rounding = slice(0, layer.shape[2]), call.rounding
        tolerance = np.full(found.shape, TOLERANCE + (2 * rounding if rounding > FINE else 0))
        if rounding > FINE and (layer.softcap is not None or layer.sink is not None):   # by hand, with rounded scores
            slack = layer.mix(_slack(layer, kept, keys, rounding), np.abs(layer.value))
            tolerance += (slack / np.maximum(scale, SMALLEST)).max(2)
        unclear = np.zeros(len(found), bool)
        if layer.temperature is not None:
            size = np.abs(layer.scores(slice(None), kept, keys)).max((1, 2))
            unclear = (found > tolerance).any(1) & (found.max(1) <= 16 * rounding * size / layer.temperature)
            blurred += [head_label(layer.index, int(head)) for head in np.flatnonzero(unclear)]
        replaced = [_replaced_error(layer, edit, patched or {}) for edit in replacing.get(_id(call), ())]
        errors += [largest(found[~unclear].max(1)), *replaced]
        beyond += [largest((found - tolerance)[~unclear].max(1)), *(error - tolerance.max() for error in replaced)]
        allowed.append(float(tolerance.max()))
        if layer.sink is None:
            row_errors.append(largest(np.abs(sums - (1 - layer.minus_factor))[sees]))
        rows += int(sees[~unclear].sum())
    worst, row_error, reasons, status = largest(errors), largest(row_errors), wiring.reasons, "verified"
    if not largest(beyond) <= 0 or not row_error <= TOLERANCE:
        status = "refused"
        reasons += (f"recomputed outputs differ by {worst:.2g} of weights · |value|, rows sum to 1 within "
                    f"{row_error:.2g}",)
    elif blurred:
        status = "computed"
        reasons += (f"At its temperature the weights of {', '.join(blurred)} change with the rounding of the scores, "
                    f"so they were not compared with the model's own.",)
    return Verification(status, worst, max(row_error, wiring.row_sum_error), wiring.load_error, max(allowed), rows,
                        reasons)


def _replaced_error(layer: Layer, edit: Silence | Patch, patched: "Mapping[Patch, Tensor]") -> float:
    """Return the largest difference of a replaced head from what the edit puts there, relative to the head's largest
    value: 0, the mean of weights · value over the rows, or the output in the other pass."""
    wanted: np.ndarray | float = 0.0
    if isinstance(edit, Patch):
        wanted = patched[edit][:layer.shape[1]].float().numpy()
    elif edit.mode == "mean":
        wanted = replace(layer, replaced_heads=(), replaced=None).output(edit.head).mean(0)
    size = max(np.abs(layer.value[layer.group(edit.head)]).max(), np.abs(wanted).max(), SMALLEST)
    return float(np.abs(layer.output(edit.head) - wanted).max() / size)


# fields of an encoder–decoder's output
FIELDS = {Kind.SELF: "encoder_attentions", Kind.CAUSAL: "decoder_attentions", Kind.CROSS: "cross_attentions"}


def layers_of(output: object, lengths: tuple[int, int | None], looks_ahead: bool) -> dict[Kind, tuple[Reported, ...]]:
    """Return the reported weights by kind, with the model's layer numbers. Raises Unsupported if they are missing or
    invalid."""
    fields = FIELDS if lengths[1] is not None else {Kind.SELF if looks_ahead else Kind.CAUSAL: "attentions"}
    sides = ends(lengths[0], lengths[1] or lengths[0])
    try:
        layers = {kind: _layers(kind, getattr(output, name, None), sides[kind]) for kind, name in fields.items()}
    except ValueError as error:
        raise Unsupported(str(error)) from error
    missing = [str(kind) for kind in layers if not layers[kind]]
    if missing:
        raise Unsupported(f"it reports no {', '.join(missing)} weights")
    return layers


def _layers(kind: Kind, weights: "Sequence[Tensor | None] | None", shape: tuple[int, int]) -> tuple[Reported, ...]:
    import torch

    layers = []
    for index, layer in enumerate(weights or ()):
        if layer is None:
            continue
        given = tuple(getattr(layer, "shape", ()))
        if (given[:1], given[2:]) != ((1,), shape):   # such as windows instead of the whole input
            raise Unsupported(f"it reports weights of {given} for a {kind} layer, not (1, head, {shape[0]}, "
                              f"{shape[1]})")
        numbers, rounding = layer[0].float().cpu(), torch.finfo(layer.dtype).eps
        if rounding > FINE:   # the sums of rows were rounded, too
            sums = numbers.sum(-1, keepdim=True)
            numbers = torch.where((sums - 1).abs() < 4 * rounding, numbers / sums, numbers)
        layers.append(Reported(index, numbers.numpy(), Causal() if kind is Kind.CAUSAL else Full()))
    return tuple(layers)


def looks_ahead(forward: Callable, probe: "Tensor") -> bool:
    """Return whether the output at the first token depends on the last one, which makes weights on later tokens
    legitimate.

    probe: token ids (1, t). forward(probe) returns the network's output.
    """
    changed = probe.clone()
    changed[0, -1] = probe[0, 0] if probe[0, -1] != probe[0, 0] else probe[0, 1]
    first, second = ((output.logits if getattr(output, "logits", None) is not None else output.last_hidden_state
                      )[0, 0].float() for output in map(forward, (probe, changed)))
    return bool((first - second).abs().max() > 1e-6 * first.abs().max())
