"""How attention is read out of a running model, and how edits are put in.

One attention function and its mask function are registered with transformers. A model that is loaded with them runs its
own forward pass with the fused kernel; each call hands over its queries, keys, values, scale, mask and bias, without
copies. The `Session` that receives them is held in a context variable, so that passes of several threads never mix and
nothing stays behind in the model. """
import functools
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from model.capture.attention_call import (
    LARGE,
    SINKS,
    Call,
    Memo,
    Unsupported,
    as_array,
    copy_if_large,
    parse_call,
)
from model.capture.transformers_internals import eager_attention, every_fused_mask, fused_attention, fused_mask
from model.core.allocator import release_free_pages
from model.core.heads import tensor_of
from model.core.masks import Mask, edited_mask
from model.core.query import Edit, Hide, Kind, Patch, Silence, Temper, Window
from model.core.types import KindHeadId, Progress, quiet

if TYPE_CHECKING:
    from torch import Tensor

IMPLEMENTATION = "clearhead"
# the same, for families whose modules do not say that they are causal and would look ahead without a mask
MASKED = "clearhead_masked"
HOLES = 5   # large calls after which the heap's free pages are handed back
ROWS = 256  # rows of queries at a time where equation (1) replaces the kernel, so that an edit needs no n² memory


@dataclass(frozen=True)
class Slot:
    """One attention of the model."""

    kind: Kind        # of attention
    index: int        # its layer's number
    module: str       # the name of its module
    occurrence: int   # how often the module is called before it in a pass
    side: str         # whose tokens are its keys: "source" or "target"


@dataclass(eq=False)
class Session:
    """One forward pass under observation."""

    names: dict[int, str]              # of the modules, by id(module)
    slots: dict[tuple[str, int], Slot] = field(default_factory=dict)   # by (module, occurrence); empty until probed
    edits: frozenset[Edit] = frozenset()   # of the query, put in during the pass
    report: Progress = quiet               # called at each attention layer
    patched_outputs: "Mapping[Patch, Tensor]" = field(default_factory=dict)   # the head's output (q, d_v) elsewhere
    mixed: "dict[tuple[Kind, int], Tensor] | None" = None   # if a dictionary, filled: (kind, layer) to (q, head, d_v)
    # for a pass that only answers, with the same text in every row: the outputs (q, d_v) of each row's patched heads;
    # nothing is recorded then
    rows: "list[dict[KindHeadId, Tensor]] | None" = None
    calls: list[Call] = field(default_factory=list)            # so far
    counts: dict[str, int] = field(default_factory=dict)       # calls so far, by the module's name
    memory: Memo = field(default_factory=Memo)                 # of masks and biases

    def identify(self, module: Any) -> tuple[str, int]:
        """The module's name and how often it was called before in this pass (some models share one layer)."""
        name = self.names.get(id(module), type(module).__name__)
        occurrence = self.counts.get(name, 0)
        self.counts[name] = occurrence + 1
        return name, occurrence

    def add_call(self, call: Call, name: str, occurrence: int, outputs: "Tensor", large: bool) -> None:
        """Adds a call with its place in the pass and its outputs (1, row, head, d_v) of `sample_rows`."""
        call.module, call.occurrence, call.rows = name, occurrence, sample_rows(call.query.shape[1])
        call.outputs = copy_if_large(as_array(outputs).swapaxes(0, 1), large)
        self.calls.append(call)
        if large and len(self.calls) % HOLES == 0:
            release_free_pages()

    def edits_at(self, slot: Slot | None, allowed: Mask) -> tuple[Mask, dict[int, float], list[Silence | Patch]]:
        """Who may look where (`allowed` itself where no edit changes it), temperatures by head, and silenced or patched
        heads of one attention."""
        if slot is None or not self.edits:
            return allowed, {}, []
        here = [edit for edit in self.edits if not isinstance(edit, Hide | Window)
                and (edit.kind, edit.layer) == (slot.kind, slot.index)]
        return (edited_mask(allowed, self.edits, slot.kind, slot.side),
                {edit.head: edit.temperature for edit in here if isinstance(edit, Temper)},
                [edit for edit in here if isinstance(edit, Silence | Patch)])


_session: ContextVar[Session | None] = ContextVar("clearhead_capture", default=None)


def register() -> None:
    """Makes both implementations known to transformers. Without a mask function the mask would be missing, and
    attention would look ahead."""
    from transformers import AttentionInterface, AttentionMaskInterface

    for name, mask_function in ((IMPLEMENTATION, fused_mask), (MASKED, every_fused_mask)):
        AttentionInterface.register(name, attention_function)
        AttentionMaskInterface.register(name, mask_function)


def run(session: Session, forward: Callable[[], Any]) -> Any:
    """`forward()` with every attention call handed to the session."""
    import torch

    token = _session.set(session)
    try:
        with torch.inference_mode():
            return forward()
    finally:
        _session.reset(token)


def attention_function(module: Any, query: "Tensor", key: "Tensor", value: "Tensor",
                       attention_mask: "Tensor | None" = None, **options: Any) -> "tuple[Tensor, None]":
    """What transformers calls in each attention layer: query (1, head, q, d_k), key and value (1, kv_head, k, d); gives
    (1, q, head, d_v), and no weights."""
    session = _session.get()
    attention_mask = _sparse_mask(attention_mask, options.pop("indices", None), key.shape[2])
    if session is None:
        return _native(module, query, key, value, attention_mask, options), None
    if len(query) > 1 and session.rows is None:
        raise Unsupported(f"it looks within {len(query)} windows of {query.shape[2]} tokens each, and not over the "
                          f"whole input")
    name, occurrence = session.identify(module)
    if session.slots:
        session.report(len(session.calls) / len(session.slots),
                       f"attention layer {len(session.calls) + 1} of {len(session.slots)}")
    slot = session.slots.get((name, occurrence))
    if session.rows is not None:
        return _with_rows(_native(module, query, key, value, attention_mask, options), slot, session.rows), None
    call = parse_call(session.memory, module, (query, key, value), attention_mask, options)
    allowed, temperatures, replaced = session.edits_at(slot, call.allowed)
    if allowed is not call.allowed or temperatures:
        output = _equation_one(_edit_call(call, allowed, temperatures))
    else:
        output = _native(module, query, key, value, attention_mask, options)
    large = query.numel() * 4 >= LARGE
    session.add_call(call, name, occurrence, output.index_select(1, _row_index(query.shape[2])), large)
    for edit in replaced:
        output[:, :, edit.head] = _replacement(output[:, :, edit.head], edit, session.patched_outputs)
    if session.mixed is not None and slot is not None:
        session.mixed[slot.kind, slot.index] = output[0]
    return output, None


def _edit_call(call: Call, allowed: Mask, temperatures: dict[int, float]) -> Call:
    """The call with another mask and its heads' temperatures."""
    if allowed is not call.allowed:
        call.allowed = allowed
    if temperatures:
        call.temperature = np.array([temperatures.get(head, 1.0) for head in range(len(call.query))], np.float32)
    return call


def _with_rows(output: "Tensor", slot: Slot | None, rows: "list[dict[KindHeadId, Tensor]]") -> "Tensor":
    """The output (row, q, head, d_v) of one attention with the patched heads of each row in place."""
    for row, patched_heads in enumerate(rows):
        for (kind, layer, head), patched_output in patched_heads.items():
            if slot is not None and (kind, layer) == (slot.kind, slot.index):
                output[row, :, head] = patched_output
    return output


def _replacement(output: "Tensor", edit: Silence | Patch,
                 patched_outputs: "Mapping[Patch, Tensor]") -> "Tensor | int":
    """What stands in the place of one head's output (1, q, d_v)."""
    if isinstance(edit, Patch):
        return patched_outputs[edit][None]
    return 0 if edit.mode == "zero" else output.mean(1, keepdim=True)


def _sparse_mask(mask: "Tensor | None", indices: "Tensor | None", n_keys: int) -> "Tensor | None":
    """The mask with the keys that sparse attention chose for each query, indices (1, query, chosen); transformers
    leaves that to its kernels, and makes a mask of them only for its own eager and fused attention (DeepSeek-V3.2,
    2025)."""
    if indices is None:
        return mask
    import torch

    if mask is None:
        raise Unsupported("it chooses keys without a mask that says what they may be chosen from")
    left_out = torch.ones(1, indices.shape[1], n_keys, dtype=torch.bool).scatter(-1, indices.long(), False)[:, None]
    return mask & ~left_out if mask.dtype == torch.bool else mask.masked_fill(left_out, torch.finfo(mask.dtype).min)


@functools.lru_cache(64)
def sample_rows(n_queries: int) -> np.ndarray:
    """The queries whose outputs are recomputed on every answer: the first (it shows a missing look-ahead mask), the
    last (it shows a missing window), and two between, where they are not on the diagonal of a square of patches: that
    stays where it is if rows and columns are exchanged."""
    return np.unique(np.rint(np.multiply((0, 0.29, 0.63, 1), n_queries - 1)).astype(int))


@functools.lru_cache(64)
def _row_index(n_queries: int) -> "Tensor":
    import torch

    return torch.from_numpy(sample_rows(n_queries))


def _native(module: Any, query: "Tensor", key: "Tensor", value: "Tensor", attention_mask: "Tensor | None",
            options: dict[str, Any]) -> "Tensor":
    """The output of the model's own attention: fused, except where the fused kernel would raise or silently ignore a
    soft-cap or a sink."""
    if options.get("softcap") is None and all(options.get(word) is None for word in SINKS):
        return fused_attention(module, query, key, value, attention_mask, **options)
    eager = eager_attention(module)
    if eager is None:
        raise Unsupported(f"{type(module).__name__} passes a soft-cap or a sink, and its family has no eager attention "
                          f"to ask")
    mask = _additive(module, query, key, attention_mask, options.get("is_causal"))
    return eager(module, query, key, value, mask, **options)[0]


def _additive(module: Any, query: "Tensor", key: "Tensor", mask: "Tensor | None",
              is_causal: bool | None) -> "Tensor | None":
    """The mask as eager attention wants it: 0 where a query may look, the smallest number elsewhere, (1, 1 or head, q,
    k)."""
    import torch

    if mask is None and query.shape[2] > 1 and (getattr(module, "is_causal", True) if is_causal is None else is_causal):
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril()[None, None]
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=query.dtype).masked_fill_(~mask, torch.finfo(query.dtype).min)


def _blocks(n_queries: int) -> Iterator[slice]:
    return (slice(start, min(start + ROWS, n_queries)) for start in range(0, n_queries, ROWS))


def _equation_one(call: Call) -> "Tensor":
    """The attention output (1, q, head, d_v) by our own equation (1), for edits that no kernel knows."""
    import torch

    from model.core import attention

    as_tensor = lambda numbers: tensor_of(np.ascontiguousarray(numbers))
    group = len(call.query) // len(call.key)
    key, value = (as_tensor(np.repeat(part, group, axis=0)) for part in (call.key, call.value))
    sink, temperature = (None if numbers is None else as_tensor(numbers)[:, None, None]
                         for numbers in (call.sink, call.temperature))
    keys, outputs = slice(0, call.key.shape[1]), []
    for rows in _blocks(call.query.shape[1]):
        bias = None if call.bias is None else as_tensor(call.bias.block(rows, keys))
        outputs.append(attention.attention(
            as_tensor(call.query[:, rows]), key, value, as_tensor(call.allowed.block(rows, keys)), scale=call.scale,
            softcap=call.softcap, bias=bias, sink=sink, temperature=1.0 if temperature is None else temperature)[0])
    return torch.cat(outputs, dim=1).transpose(0, 1)[None].contiguous()
