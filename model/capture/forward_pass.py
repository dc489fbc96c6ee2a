"""Capture attention during a forward pass, and apply edits.

One attention function and its mask function are registered with transformers. A model loaded with them runs its own
forward pass with the fused kernel; each call passes its queries, keys, values, scale, mask and bias, without copies, to
the current `Session`. The session is a context variable, so passes of several threads never mix and the model itself is
not modified.
"""
import functools
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clearhead.model.capture.transformers_internals import (
    difference_of,
    eager_attention,
    eager_mask,
    every_fused_mask,
    fused_attention,
    fused_mask,
    gate_behind,
)
from clearhead.model.core.attention import (
    Bias,
    Causal,
    Dense,
    Full,
    Mask,
    Sparse,
    edited_mask,
    empty_rows,
    recognise_bias,
    recognise_mask,
)
from clearhead.model.core.models import check_lengths
from clearhead.model.core.query import Edit, Hide, Kind, Patch, Progress, Silence, Temper, Window, frozen, quiet
from clearhead.model.core.record import Layer
from clearhead.model.core.torch_runs import for_this_thread

if TYPE_CHECKING:
    from torch import Tensor, nn


Result = TypeVar("Result")
Options = dict[str, Any]   # keyword arguments of an attention function, named as in transformers
DROWNED = -1e20   # swamps any score that it is added to in float32; some masks contain it
SINKS = ("s_aux", "sinks")
# Keywords that are handled here, or that affect visibility only through the mask passed with them. A model that passes
# other keywords is shown as reported.
KNOWN = frozenset({
    "scaling", "dropout", "is_causal", "position_bias", "softcap", *SINKS, "sliding_window", "position_ids",
    "cache_position", "position_embeddings", "deterministic", "output_attentions", "output_hidden_states", "use_cache",
    "return_dict", "labels", "logits_to_keep", "token_type_ids", "layer_idx", "cu_seq_lens_q", "cu_seq_lens_k",
    "max_length_q", "max_length_k", "num_items_in_batch", "encoder_hidden_states", "encoder_attention_mask",
    "past_key_values", "output_router_logits"})


class Unsupported(Exception):
    """This model cannot be captured; the message says why. The weights that it reports itself may still be shown."""


@dataclass(eq=False)
class Call:
    """The inputs and outputs of one attention call, with the fields of a `model.core.record.Layer`, and the call's
    location."""

    query: np.ndarray                       # float32 (head, q, d_k)
    key: np.ndarray                         # float32 (kv_head, k, d_k)
    value: np.ndarray                       # float32 (kv_head, k, d_v)
    scale: float                            # factor on the scores
    allowed: Mask                           # which keys each query may attend to
    bias: Bias                              # added to the scores
    softcap: float | None                   # caps the scores
    sink: np.ndarray | None                 # (head), an extra logit that belongs to no token
    unknown: tuple[str, ...]                # keywords that the capture does not know
    temperature: np.ndarray | None = None   # (head), from the edit `Temper`
    rounding: float = 2**-23                # distance from 1 to the next number of the type it was computed in
    module: str = ""                        # the module's name in the network
    occurrence: int = 0                     # number of earlier calls to this module in the pass
    rows: np.ndarray | None = None          # queries whose outputs are kept
    outputs: np.ndarray | None = None       # float32 (head, row, d_v) for those queries
    gate: np.ndarray | None = None          # float32 (head, q), from `read_gate`
    beside: np.ndarray | None = None        # float32 (q), the share of attention beside a Mamba path
    replaced_heads: tuple[int, ...] = ()    # heads whose output an edit replaced
    replaced: np.ndarray | None = None      # float32 (replaced head, q, d_v), their outputs; `outputs` has those before
    minus: "Call | None" = None             # the softmax that is subtracted
    minus_factor: float = 0.0               # its factor

    def layer(self, index: int) -> Layer:
        """Return the call as a validated layer of the record."""
        parts = {name: getattr(self, name) for name in Layer.__dataclass_fields__ if name != "index"}
        return Layer(index, **parts | {"minus": None if self.minus is None else self.minus.layer(index)})

    def minus_half(self, other: "Call", factor: float) -> "Call":
        """Return the difference of the softmaxes of the first and the second half of heads, times all values: `other`
        is the call with the other half of the values."""
        if self.bias is not None or self.sink is not None:
            raise Unsupported("it subtracts softmaxes with a bias or a sink")
        heads, groups = len(self.query) // 2, len(self.key) // 2
        value = np.concatenate([self.value[:groups], other.value[:groups]], 2)
        first, second = (replace(self, query=self.query[head], key=self.key[group], value=value,
                                 temperature=None if self.temperature is None else self.temperature[head])
                         for head, group in ((slice(0, heads), slice(0, groups)),
                                             (slice(heads, None), slice(groups, None))))
        return replace(first, minus=second, minus_factor=factor)


def names_of(network: "nn.Module", part: str = "") -> dict[int, str]:
    """Return {id of a module: its name in the network}, "" outside this part of it, where attention is not captured."""
    return {id(module): name if f"{name}.".startswith(f"{part}." if part else "") else ""
            for name, module in network.named_modules()}


@dataclass(eq=False)
class Memo:
    """A cache of the masks and biases recognised in this pass: layers share them, and recognising one takes O(n²) time.
    Only a few are kept, because each also takes O(n²) memory."""

    known: deque = field(default_factory=lambda: deque(maxlen=4))   # (identity, tensor, result)

    def get(self, tensor: "Tensor", recognise: "Callable[[Tensor], Result]") -> "Result":
        """Return recognise(tensor), computed once for all layers that pass the same numbers. The tensor is kept alive
        so that its address is not reused."""
        identity = (recognise, tensor.data_ptr(), tensor.shape, tensor.stride())
        for known, _, result in self.known:
            if known == identity:
                return result
        result = recognise(tensor)
        self.known.append((identity, tensor, result))
        return result


def as_array(tensor: "Tensor") -> np.ndarray:
    """Return a tensor (1, head, token, d) as float32 (head, token, d), without a copy if it is float32 already."""
    import torch

    return (tensor if tensor.dtype == torch.float32 and not tensor.requires_grad
            else tensor.detach().float()).cpu().numpy()[0]


def parse_call(memory: Memo, module: object, tensors: "tuple[Tensor, ...]", mask: "Tensor | None",
               options: Options) -> Call:
    """Convert a call from transformers to `Call`. tensors: query (1, head, q, d_k), key and value (1, kv_head, k, d).
    Raises Unsupported for a mask of any other shape."""
    import torch

    query, key, _ = tensors
    shape = (query.shape[1], query.shape[2], key.shape[2])
    options = {word: setting for word, setting in options.items() if setting is not None}
    is_causal = options.get("is_causal")
    if mask is None and is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    if mask is not None and mask.ndim != 4:
        raise Unsupported(f"{type(module).__name__} passes a mask of {tuple(mask.shape)}, where (1, head, query, key) "
                          f"was expected")
    allowed, bias = parse_mask(memory, mask, shape, bool(is_causal))
    if isinstance(allowed, Dense) and hasattr(module, "indexer"):
        allowed = Sparse(allowed.values)
    if "position_bias" in options:
        bias = _add(bias, memory.get(options["position_bias"].expand(1, *shape), _bias), shape)
    sink, bias = _sink(next((options[word] for word in SINKS if word in options), None), bias, shape)
    scale = float(options.get("scaling", 1 / math.sqrt(query.shape[-1])))
    # copies, because a view would keep all that the layer computed
    queries, keys, values = (as_array(tensor).copy() for tensor in tensors)
    return Call(queries, keys, values, scale, allowed, bias, options.get("softcap"), sink,
                tuple(sorted(options.keys() - KNOWN)), rounding=torch.finfo(query.dtype).eps)


def parse_mask(memory: Memo, mask: "Tensor | None", shape: tuple[int, int, int],
               is_causal: bool) -> tuple[Mask, Bias]:
    """Split a bool or float mask (1, 1 or head, query or 1, key) into the mask of allowed keys and a bias added to the
    scores. Without a mask, `is_causal` decides, as in the kernel."""
    import torch

    if mask is None:
        return (Causal() if is_causal and shape[1] > 1 else Full()), None
    mask = mask.expand(1, -1, *shape[1:])
    if mask.dtype == torch.bool:
        return memory.get(mask, _bool_mask), None
    return memory.get(mask, _float_mask)


def _bool_mask(mask: "Tensor") -> Mask:
    return recognise_mask(mask[0].cpu().numpy())


def _float_mask(mask: "Tensor") -> tuple[Mask, Bias]:
    """Split a float mask: entries at the type's minimum forbid a key, all others are a bias. A row with a finite
    minimum for every key forbids nothing; it swamps the scores and gives uniform weights."""
    import torch

    numbers = mask[0].float().cpu()
    allowed = numbers > torch.finfo(mask.dtype).min / 2
    drowned = ~allowed.any(-1, keepdim=True) & torch.isfinite(numbers).all(-1, keepdim=True)
    if drowned.any():
        allowed = allowed | drowned
        numbers = numbers.masked_fill(drowned, DROWNED)
    return recognise_mask(allowed.numpy()), recognise_bias(numbers.masked_fill(~allowed, 0).numpy())


def _sink(sink: "Tensor | None", bias: Bias, shape: tuple[int, int, int]) -> tuple[np.ndarray | None, Bias]:
    """Return a sink's logits (head), and the bias to use with it. If each query has its own sink (Inkling 2), subtract
    it from the row's scores and return 0: shifting all logits of a row, including the sink's, changes no weight."""
    if sink is None:
        return None, bias
    numbers = sink.detach().float().cpu().numpy().copy()   # a copy, because the program may continue to train the model
    if numbers.size == shape[0]:
        return numbers.reshape(-1), bias
    shift = np.broadcast_to(-numbers.reshape(*shape[:2], 1), shape)
    return np.zeros(shape[0], np.float32), _add(bias, recognise_bias(shift), shape)


def _bias(tensor: "Tensor") -> Bias:
    return recognise_bias(tensor[0].detach().float().cpu().numpy())


def _add(one: Bias, other: Bias, shape: tuple[int, int, int]) -> Bias:
    """Return the sum of two biases."""
    if one is None or other is None:
        return one if other is None else other
    rows, keys = slice(0, shape[1]), slice(0, shape[2])
    return recognise_bias(one.block(rows, keys) + other.block(rows, keys))


IMPLEMENTATION = "clearhead"
# for families whose modules do not declare themselves causal and would attend to later tokens without a mask
MASKED = "clearhead_masked"
# the family's own eager attention, with its queries and keys seen: what 16 bits round differs from pass to pass
EAGER = "clearhead_eager"


@frozen
class Slot:
    """One attention layer of the model."""

    kind: Kind        # kind of attention
    index: int        # layer number
    module: str       # module name
    occurrence: int   # number of earlier calls to the module in a pass
    side: str         # side that its keys belong to: "source" or "target"


@dataclass(eq=False)
class Session:
    """One observed forward pass."""

    names: dict[int, str]              # module names, by id(module), "" for those that are left alone
    slots: dict[tuple[str, int], Slot] = field(default_factory=dict)   # by (module, occurrence); empty before probing
    edits: frozenset[Edit] = frozenset()   # the query's edits, applied during the pass
    report: Progress = quiet               # called at each attention layer
    # each patched head's output (q, d_v) in the other pass
    patched_outputs: "Mapping[Patch, Tensor]" = field(default_factory=dict)
    # for passes that are not recorded, over several texts at once unless there are edits: receives each attention's
    # slot, its query, key and value (text, head, token, d) and its edited output (text, q, head, d_v), and returns the
    # output to continue with
    tap: "Callable[[Slot, tuple[Tensor, ...], Tensor], Tensor] | None" = None
    calls: list[Call] = field(default_factory=list)            # calls so far
    counts: dict[str, int] = field(default_factory=dict)       # number of calls so far, by module name
    memory: Memo = field(default_factory=Memo)                 # masks and biases seen so far
    output: "Tensor | None" = None                             # output of the last call, (1, q, head, d_v)
    half: Call | None = None   # the first call of a layer that calls attention twice: see `difference_of`

    def identify(self, module: object) -> tuple[str, int]:
        """Return the module's name and its number of earlier calls in this pass (some models share one layer)."""
        name = self.names.get(id(module), type(module).__name__)
        occurrence = self.counts.get(name, 0)
        self.counts[name] = occurrence + 1
        return name, occurrence

    def add_call(self, call: Call, outputs: "Tensor") -> None:
        """Add a call with its outputs (1, row, head, d_v) at `sample_rows`."""
        call.rows = sample_rows(call.query.shape[1])
        call.outputs = as_array(outputs).swapaxes(0, 1).copy()
        self.calls.append(call)

    def edits_at(self, slot: Slot | None, allowed: Mask) -> tuple[Mask, dict[int, float], list[Silence | Patch]]:
        """Return the edits that apply to one attention layer: the mask (`allowed` itself if unchanged), temperatures by
        head, and the silenced or patched heads."""
        if slot is None or not self.edits:
            return allowed, {}, []
        here = [edit for edit in self.edits if not isinstance(edit, Hide | Window)
                and (edit.kind, edit.layer) == (slot.kind, slot.index)]
        return (edited_mask(allowed, self.edits, slot.kind, slot.side),
                {edit.head: edit.temperature for edit in here if isinstance(edit, Temper) and edit.temperature != 1},
                [edit for edit in here if isinstance(edit, Silence | Patch)])


_session: ContextVar[Session | None] = ContextVar("clearhead_capture", default=None)


def register() -> None:
    """Register both attention functions with transformers, and disable its progress bars. Without a registered mask
    function, transformers would omit the mask and tokens would attend to later ones."""
    from transformers import AttentionInterface, AttentionMaskInterface, logging

    logging.disable_progress_bar()
    for name, mask_function in ((IMPLEMENTATION, fused_mask), (MASKED, every_fused_mask), (EAGER, eager_mask)):
        AttentionInterface.register(name, eager_function if name == EAGER else attention_function)
        AttentionMaskInterface.register(name, mask_function)


def run(session: Session, forward: Callable[[], Result]) -> Result:
    """Return `forward()`, passing every attention call to the session."""
    import torch

    token = _session.set(session)
    try:
        with torch.no_grad():   # a program's own hooks and buffers may keep tensors of the pass
            return forward()
    finally:
        _session.reset(token)


def attention_function(module: object, query: "Tensor", key: "Tensor", value: "Tensor",
                       attention_mask: "Tensor | None" = None, **options: object) -> "tuple[Tensor, None]":
    """Compute attention for transformers, which calls this in each attention layer. query (1, head, q, d_k), key and
    value (1, kv_head, k, d); returns (1, q, head, d_v) and no weights."""
    return attend(module, (query, key, value), _sparse_mask(module, query, key, attention_mask, options), options,
                  lambda *edited: _native(module, edited[0], key, value, *edited[1:])), None


def eager_function(module: object, query: "Tensor", key: "Tensor", value: "Tensor",
                   attention_mask: "Tensor | None" = None, **options: object) -> "tuple[Tensor, Tensor | None]":
    """Compute attention like `attention_function`, but by the family's eager function; returns its weights too."""
    eager, weights = eager_attention(module), []
    attention_mask = _sparse_mask(module, query, key, attention_mask, options)

    def native(query: "Tensor", mask: "Tensor | None", options: Options) -> "Tensor":
        if eager is None:
            raise Unsupported(f"the family of {type(module).__name__} has no eager attention")
        output, found = eager(module, query, key, value, mask, **options)
        weights.append(found)
        return output

    return attend(module, (query, key, value), attention_mask, options, native), weights[0]


def attend(module: object, tensors: "tuple[Tensor, Tensor, Tensor]", mask: "Tensor | None", options: Options,
           native: "Callable[[Tensor, Tensor | None, Options], Tensor]") -> "Tensor":
    """Return the output (text, q, head, d_v) of one attention call: the model's own, unless this thread's session edits
    it.

    tensors: query (text, head, q, d_k), key and value (text, kv_head, k, d). options: named as in transformers.
    native(query, mask, options) computes it.
    """
    import torch

    session, (query, key, _) = _session.get(), tensors
    if session is None or session.names.get(id(module)) == "":
        return native(query, mask, options)
    if len(query) > 1 and session.tap is None:
        raise Unsupported(f"it attends within {len(query)} windows of {query.shape[2]} tokens each, not over the "
                          f"whole input")
    difference, half, session.half = difference_of(module), session.half, None
    name, occurrence = (half.module, half.occurrence) if half else session.identify(module)
    if session.slots:
        done, every = sum(session.counts.values()), len(session.slots)
        session.report((done - 1) / every, f"attention layer {done} of {every}")
    slot = session.slots.get((name, occurrence))
    if session.tap is not None and not session.edits and difference is None:
        output = native(query, mask, options)
        return output if slot is None else session.tap(slot, tensors, output)
    call = parse_call(session.memory, module, tensors, mask, options)
    call.module, call.occurrence = name, occurrence
    allowed, temperatures, replaced = session.edits_at(slot, call.allowed)
    if difference is not None:   # an edit is of both softmaxes
        temperatures |= {head + len(call.query) // 2: own for head, own in temperatures.items()}
    if slot is not None and allowed is not call.allowed:
        mask = _narrowed(mask, session.edits, slot, call)
    output = native(query, mask, options)
    for temperature in {*temperatures.values()}:
        here = [head for head, own in temperatures.items() if own == temperature]
        output[:, :, here] = native(*_tempered(module, query, key, mask, options, temperature))[:, :, here]
    if temperatures:
        call.temperature = np.array([temperatures.get(head, 1.0) for head in range(len(call.query))], np.float32)
    if allowed is not call.allowed:
        call.allowed, empty = allowed, empty_rows(allowed, query.shape[2], key.shape[2])
        if empty.any():   # kernels return 0, NaN or a mean
            output = output.masked_fill(torch.from_numpy(empty.T).to(output.device)[..., None], 0)
    if difference is None:
        return _finished(session, slot, call, tensors, output, replaced)
    if half is None:
        session.half = call
        return output
    norm, factor = difference
    whole = half.minus_half(call, factor)

    def read(_norm: object, arguments: "tuple[Tensor, ...]") -> "tuple[Tensor] | None":
        if _session.get() is not session:   # another thread's pass
            return None
        handle.remove()
        return (_finished(session, slot, whole, tensors, arguments[0], replaced),)

    handle = norm.register_forward_pre_hook(read)
    return output


def _finished(session: Session, slot: Slot | None, call: Call, tensors: "tuple[Tensor, Tensor, Tensor]",
              output: "Tensor", replaced: list[Silence | Patch]) -> "Tensor":
    """Keep the call with its output (text, q, head, d_v), and return the output to continue with."""
    session.add_call(call, output.index_select(1, _row_index(output.shape[1]).to(output.device)))
    for edit in replaced:
        output[:, :, edit.head] = _replacement(output[:, :, edit.head], edit, session.patched_outputs)
    if replaced:
        call.replaced_heads = tuple(sorted(edit.head for edit in replaced))
        call.replaced = as_array(output)[:, list(call.replaced_heads)].swapaxes(0, 1).copy()
    if session.tap is not None and slot is not None:
        output = session.tap(slot, tensors, output)
    session.output = output
    return output


def read_gate(_module: object, arguments: "tuple[Tensor, ...]") -> None:
    """Measure how much of each head's output passes the gate behind it: a forward pre-hook of a W_O that reads gated
    outputs (1, q, head · d_v)."""
    session = _session.get()
    if session is None or session.output is None:
        return
    before, session.output = session.output, None
    lengths = [each.norm(dim=-1)[0].T for each in (before, arguments[0].reshape(before.shape))]
    session.calls[-1].gate = (lengths[1] / lengths[0].clamp_min(1e-30)).float().cpu().numpy()


@contextmanager
def measuring(session: Session, network: "nn.Module", gated: Iterable[str],
              beside: Mapping[str, tuple[str, float, float]]) -> Iterator[None]:
    """Measure, in this session's pass, how much passes the gate behind each head, and the share of attention in what
    it and a Mamba path beside it add. gated, beside: as in `model.capture.verify.Wiring`."""
    lengths: dict[str, Tensor] = {}

    def keep(name: str, _module: object, _given: object, output: Any) -> None:
        lengths[name] = (output[0] if isinstance(output, tuple) else output).norm(dim=-1)[0]

    with ExitStack() as hooks:
        for name in gated:
            hooks.enter_context(network.get_submodule(name).register_forward_pre_hook(for_this_thread(read_gate)))
        for name in {*beside, *(path for path, *_ in beside.values())}:
            hooks.enter_context(network.get_submodule(name).register_forward_hook(
                for_this_thread(functools.partial(keep, name))))
        yield
    for call in session.calls:
        if (gate := gate_behind(network, call.module)) is not None:
            call.gate = np.full(call.query.shape[:2], abs(float(gate)), np.float32)
        if call.module in beside:
            path, *factors = beside[call.module]
            own, other = factors[0] * lengths[call.module], factors[1] * lengths[path]
            call.beside = (own / (own + other)).float().cpu().numpy()


def _replacement(output: "Tensor", edit: Silence | Patch,
                 patched_outputs: "Mapping[Patch, Tensor]") -> "Tensor | int":
    """Return the replacement for one head's output (1, q, d_v). Raises UserError if the other pass has fewer rows."""
    if isinstance(edit, Patch):
        here, taken = output.shape[1], patched_outputs[edit]
        check_lengths(edit.from_query, min(here, len(taken)), here)
        return taken[None, :here].to(output.device)   # text that is still being generated has only its first rows
    return 0 if edit.mode == "zero" else output.mean(1, keepdim=True)


def _sparse_mask(module: Any, query: "Tensor", key: "Tensor", mask: "Tensor | None",
                 options: Options) -> "Tensor | None":
    """Return the mask restricted to the keys that sparse attention chose for each query, and remove the choice from the
    options: indices (1, query, chosen) of keys (DeepSeek-V3.2, 2025), or block_indices (1, kv_head, query, chosen) of
    blocks of keys (MiniMax-M3). transformers leaves this to kernels and builds such a mask only for its own eager and
    fused attention."""
    import torch

    indices, blocks = options.pop("indices", None), options.pop("block_indices", None)
    if blocks is not None:
        positions = torch.arange(key.shape[2] - query.shape[2], key.shape[2], device=query.device)[None]
        return module.indexer.build_block_mask(blocks, mask, key.shape[2], query.dtype, query.device, positions)
    if indices is None:
        return mask
    if mask is None:
        raise Unsupported("it chooses keys without a mask that says what they may be chosen from")
    every = torch.ones(*indices.shape[:2], key.shape[2], dtype=torch.bool, device=indices.device)
    left_out = every.scatter(-1, indices.long(), False)[:, None]
    return mask & ~left_out if mask.dtype == torch.bool else mask.masked_fill(left_out, torch.finfo(mask.dtype).min)


@functools.lru_cache(64)
def sample_rows(n_queries: int) -> np.ndarray:
    """Return the queries whose outputs are recomputed for every answer: the first (reveals a missing causal mask), the
    last (reveals a missing window), and two in between. These are not on the diagonal of square grids of patches, which
    would not reveal swapped rows and columns."""
    return np.unique(np.rint(np.multiply((0, 0.29, 0.63, 1), n_queries - 1)).astype(int))


@functools.lru_cache(64)
def _row_index(n_queries: int) -> "Tensor":
    import torch

    return torch.from_numpy(sample_rows(n_queries))


def _native(module: object, query: "Tensor", key: "Tensor", value: "Tensor", attention_mask: "Tensor | None",
            options: Options) -> "Tensor":
    """Return the output of the model's own attention: fused, unless the fused kernel would raise or silently ignore a
    soft-cap or a sink."""
    if options.get("softcap") is None and all(options.get(word) is None for word in SINKS):
        return fused_attention(module, query, key, value, attention_mask, **options)
    eager = eager_attention(module)
    if eager is None:
        raise Unsupported(f"{type(module).__name__} passes a soft-cap or a sink, but its family has no eager attention "
                          f"to compute it")
    mask = _additive(module, query, key, attention_mask, options.get("is_causal"))
    return eager(module, query, key, value, mask, **options)[0]


def _additive(module: object, query: "Tensor", key: "Tensor", mask: "Tensor | None",
              is_causal: bool | None) -> "Tensor | None":
    """Return the mask in the form that eager attention expects: 0 where a query may attend, the smallest number
    elsewhere, (1, 1 or head, q, k)."""
    import torch

    if mask is None and query.shape[2] > 1 and (getattr(module, "is_causal", True) if is_causal is None else is_causal):
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()[None, None]
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=query.dtype).masked_fill_(~mask, torch.finfo(query.dtype).min)


def _narrowed(mask: "Tensor | None", edits: Collection[Edit], slot: Slot, call: Call) -> "Tensor":
    """Return the mask of the model's own attention without the keys that `Hide` and `Window` take away. It is written
    apart from `model.core.attention.edited_mask`, so that the check of an edited pass compares the two."""
    import torch

    shape = (call.query.shape[1], call.key.shape[1])
    i, j = torch.arange(shape[0])[:, None], torch.arange(shape[1])
    left = torch.ones(shape, dtype=torch.bool)
    for edit in edits:
        if isinstance(edit, Hide) and edit.side == slot.side:
            left &= j != edit.token
        elif isinstance(edit, Window) and slot.kind is Kind.CAUSAL:
            left &= (j > i - edit.width) | (j < edit.first)
    if mask is None:
        return (left.tril() if isinstance(call.allowed, Causal) else left)[None, None]
    return mask & left if mask.dtype == torch.bool else torch.where(left, mask, -torch.inf)


def _tempered(module: object, query: "Tensor", key: "Tensor", mask: "Tensor | None", options: Options,
              temperature: float) -> "tuple[Tensor, Tensor | None, Options]":
    """Return query, mask and options with which the model's own attention divides its scores by a temperature: the
    queries, every bias and the soft-cap are divided by it. A sink, which the model adds itself, would need the same; as
    shifting a whole row changes no weight, the other scores are raised instead."""
    import torch

    options = {word: setting / temperature if word in ("softcap", "position_bias") and setting is not None else setting
               for word, setting in options.items()}
    sink = next((options[word] for word in SINKS if options.get(word) is not None), None)
    if sink is not None and (mask := _additive(module, query, key, mask, options.get("is_causal"))) is None:
        mask = torch.zeros(1, 1, query.shape[2], key.shape[2], dtype=query.dtype)
    if mask is not None and mask.dtype != torch.bool:
        divided = (mask / temperature).clamp(min=torch.finfo(mask.dtype).min)
        mask = torch.where(mask.isinf(), mask, divided)
        if sink is not None:
            mask = mask + sink.reshape(1, query.shape[1], -1, 1) * (1 - 1 / temperature)
    return query / temperature, mask, options
