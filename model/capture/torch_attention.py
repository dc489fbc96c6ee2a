"""Attention of any torch module, seen as it is computed: every call of torch's own attention during a pass, with the
module that made it, and every softmax over scores that a module computed by hand.

torch hands its functions to a mode that is on (torch.overrides.TorchFunctionMode), however a module came by them, and
leaves its fast path while one is: so whoever observes a pass compares what it put out with a pass that nobody
observed. """
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from model.capture.forward_pass import Call, Memo, Unsupported, parse_mask
from model.capture.origins import NOTHING, Origins, Stream, tensors_in
from model.core.limits import LIMITS
from model.core.masks import empty_rows
from model.core.query import UserError, first_line

# rows of queries at most whose outputs are all compared; of longer ones as many, evenly chosen
ROWS = 256
# the largest difference that counts as the same, as a share of the largest output: what rounding in a type makes of it
TOLERANCES = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass(eq=False)
class Attention:
    """What a module computed in one call."""

    module: str                  # its name in the network
    call: Call | None            # what torch's attention was given and put out; None where only a softmax was seen
    weights: np.ndarray | None   # float32 (head, query, key): what a softmax put out; None where the call is known
    same_source: bool            # whether queries and keys, if they are as many, come from the same tensor
    batch: int                   # how many texts stood side by side
    dtype: torch.dtype = torch.float32   # that it computed in
    # from the heads' mixed values (head, row, d_v) to what `call.outputs` holds; None where these are the mixed values
    project: Callable[[np.ndarray], np.ndarray] | None = None
    reasons: list[str] = field(default_factory=list)   # clauses on why it is not what it seems
    queries: Stream = NOTHING   # whose positions look
    keys: Stream = NOTHING      # whose positions are looked at
    number: int = -1            # of this attention in the pass
    beside: frozenset[frozenset] = frozenset()   # roots of what was joined with the queries' item, as another item

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, keys)"""
        if self.call is not None:
            return self.call.query.shape[1], self.call.key.shape[1]
        assert self.weights is not None
        return self.weights.shape[1], self.weights.shape[2]

    def is_finite(self) -> bool:
        """Return whether neither NaN nor infinity is among what was seen, outputs of rows that may look at nothing
        aside."""
        call = self.call
        seen = (self.weights,) if call is None else (call.query, call.key, call.value)
        finite = all(part is None or bool(np.isfinite(part).all()) for part in seen)
        if call is None or call.outputs is None:
            return finite
        return finite and bool(np.isfinite(call.outputs[self.compared]).all())

    @functools.cached_property
    def sees_nothing(self) -> np.ndarray:
        """Rows that may look at nothing, bool (head, query)."""
        if self.call is None:
            assert self.weights is not None
            return np.logical_not(self.weights.any(-1))
        return np.broadcast_to(empty_rows(self.call.allowed, *self.shape), (len(self.call.query), self.shape[0]))

    @property
    def compared(self) -> np.ndarray:
        """Which of the call's outputs are compared, bool (head or 1, row). Kernels give 0, NaN or a mean for a row that
        may look at nothing; a projection mixes it with the other heads, so that there whole rows are left out, unless
        none would be left: then those that are finite are compared with a head that adds nothing."""
        assert self.call is not None and self.call.rows is not None and self.call.outputs is not None
        sees = ~self.sees_nothing[:, self.call.rows]
        if self.project is None:
            return sees
        whole = sees.all(0)
        rows = whole if whole.any() else np.isfinite(self.call.outputs[0]).all(-1)
        return np.asarray(rows)[None]

    @property
    def tolerance(self) -> float:
        """The largest difference that counts as the same, as a share of the largest output."""
        return TOLERANCES.get(self.dtype, 1e-4)


def chosen_rows(n_queries: int) -> np.ndarray:
    """Return the queries whose outputs are compared."""
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, ROWS)).astype(int))


def as_numbers(tensor: Tensor) -> np.ndarray:
    """Return the tensor as float32 in this computer's memory: a copy, as a module may go on to write into its own."""
    return tensor.detach().to("cpu", torch.float32, copy=True).contiguous().numpy()


def item_of(tensor: Tensor, batch: int) -> Tensor:
    """Return the part of one text in a tensor (batch, …), or the only one there is. Raises Unsupported if there are
    fewer."""
    if tensor.shape[0] == 1:
        return tensor[0]
    if batch >= tensor.shape[0]:
        raise Unsupported(f"it has {tensor.shape[0]} items side by side and number {batch} was asked for")
    return tensor[batch]


@dataclass(eq=False)
class Heads:
    """The heads of one text, as torch's function makes them."""

    parts: tuple[Tensor, Tensor, Tensor]          # query (head, q, d), key and value (head, k, d)
    mask: Tensor | None                           # (1 or head, q, k), added to the scores
    is_causal: bool                               # instead of a mask
    dropout: float                                # probability, as it is applied
    project: Callable[[np.ndarray], np.ndarray]   # (head, row, d) to the function's output, (1, row, d_model)
    output: Tensor                                # of the function, (q, d_model)
    batch: int                                    # texts side by side


def _arguments(args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments of torch.nn.functional.multi_head_attention_forward, which nn.MultiheadAttention calls, by
    name."""
    given = inspect.signature(functional.multi_head_attention_forward).bind(*args, **kwargs)
    given.apply_defaults()
    return given.arguments


def heads_of(given: dict[str, Any], output: Tensor, batch: int) -> Heads:
    """Return the heads of text number `batch` from torch's arguments, where queries are (q, batch, d_model) or (q,
    d_model). Raises Unsupported for keys that are no tokens."""
    if any(given.get(name) is not None for name in ("bias_k", "bias_v", "static_k", "static_v")) or given.get(
            "add_zero_attn"):
        raise Unsupported("it attends over keys that are no tokens: bias_k, add_zero_attn or static_k")
    texts = given["query"].shape[1] if given["query"].ndim == 3 else 1
    states = [item_of(part.transpose(0, 1), batch) if part.ndim == 3 else part
              for part in (given["query"], given["key"], given["value"])]
    count = given["num_heads"]
    parts = [functional.linear(state, weight, bias).unflatten(-1, (count, -1)).transpose(0, 1)
             for state, weight, bias in zip(states, *_projections(given), strict=True)]
    causal = bool(given.get("is_causal")) and given.get("key_padding_mask") is None and not given["need_weights"]
    mask = None if causal else _mask(given, texts, batch)
    weight = as_numbers(given["out_proj_weight"])
    bias = None if given["out_proj_bias"] is None else as_numbers(given["out_proj_bias"])

    def project(mixed: np.ndarray) -> np.ndarray:
        joined = mixed.swapaxes(0, 1).reshape(mixed.shape[1], -1) @ weight.T
        return (joined if bias is None else joined + bias)[None]

    dropout = given["dropout_p"] if given.get("training", True) else 0.0
    whole = item_of(output.transpose(0, 1), batch) if output.ndim == 3 else output
    return Heads((parts[0], parts[1], parts[2]), mask, causal, dropout, project, whole, texts)


def _projections(given: dict[str, Any]) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Return weights and biases of queries, keys and values."""
    biases = (None,) * 3 if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)
    if given.get("use_separate_proj_weight"):
        return tuple(given[f"{name}_proj_weight"] for name in "qkv"), biases
    return given["in_proj_weight"].chunk(3), biases


def _mask(given: dict[str, Any], texts: int, batch: int) -> Tensor | None:
    """Return what is added to the scores of this text: who may not look where, and the padding nobody may look at."""
    mask, padding = given.get("attn_mask"), given.get("key_padding_mask")
    added: Tensor | None = None
    if mask is not None:
        mask = _additive(mask)
        added = mask[None] if mask.ndim == 2 else (mask if len(mask) == 1 else item_of(
            mask.unflatten(0, (texts, -1)), batch))
    if padding is not None:
        padding = _additive(padding)
        row = (item_of(padding, batch) if padding.ndim == 2 else padding)[None, None]
        added = row if added is None else added + row
    return added


def _additive(mask: Tensor) -> Tensor:
    """Return a mask of booleans, which are true where nobody may look, as what is added to scores."""
    if mask.dtype != torch.bool:
        return mask.float()
    return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)


def compare_output(found: Attention, output: object, batch_first: bool, batch: int) -> None:
    """Notes where nn.MultiheadAttention, or what somebody derived from it, gives back anything else than torch's
    function gave it."""
    call, states = found.call, output[0] if isinstance(output, tuple) else output
    if call is None or call.outputs is None or call.rows is None or not isinstance(states, Tensor):
        return
    if states.ndim == 3:
        states = item_of(states if batch_first else states.transpose(0, 1), batch)
    ours = as_numbers(states[torch.from_numpy(call.rows).to(states.device)])[None]
    scale = float(np.abs(call.outputs[np.isfinite(call.outputs)]).max(initial=0)) or 1.0
    if ours.shape != call.outputs.shape or not np.allclose(ours, call.outputs, 0, found.tolerance * scale,
                                                           equal_nan=True):
        found.reasons.append("it puts out something else than the attention that it computed")


SOFTMAX = frozenset({"softmax", "special_softmax", "_safe_softmax"})
MIXING = frozenset({"matmul", "bmm", "einsum", "__matmul__"})


@dataclass(eq=False)
class Running:
    """A module that is being called."""

    name: str
    rows: int | None              # the size of the first axis of what it was given
    module: nn.Module
    found: Attention | None = None   # the last attention that it computed


class Observer(TorchFunctionMode):
    """Sees the attention of one pass: of item `batch` where several texts stand side by side.

    Used as a context round the pass, which must run without gradients."""

    def __init__(self, network: nn.Module, batch: int = 0, inputs: Iterable[Tensor] = ()) -> None:
        """inputs: the tensors that the pass is given, whose positions are told apart."""
        super().__init__()
        self.batch = batch
        self.found: list[Attention] = []
        self.unread: list[str] = []   # sentences on attention that was seen and cannot be read
        self._names = {id(module): name or type(network).__name__ for name, module in network.named_modules()}
        self._stack: list[Running] = []
        self._origins, self._masks = Origins(), Memo()
        attributes = (each for module in network.modules() for each in tensors_in(vars(module).values()))
        self._origins.start(inputs, (*network.buffers(), *attributes))
        self._waiting: dict[int, Attention] = {}   # softmaxes over three axes, by the address of their result
        self._bytes = 0                            # of weights that are held
        self._numbers = itertools.count()          # of attentions
        self._alive: list[Tensor] = []             # and those results, so that no other comes to lie there

    @contextmanager
    def watching(self, network: nn.Module) -> Iterator["Observer"]:
        """Know within the block which module is being called."""
        handles = []
        try:
            for module in network.modules():
                handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
                handles.append(module.register_forward_hook(self._leave, always_call=True))
            with self:
                yield self
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        first = next(tensors_in([*args, *kwargs.values()]), None)
        rows = first.shape[0] if first is not None and first.ndim else None
        self._stack.append(Running(self._names.get(id(module), type(module).__name__), rows, module))

    def _leave(self, module: nn.Module, args: tuple, output: object) -> None:
        if not self._stack:
            return
        running = self._stack.pop()
        self._origins.adopt(args, output)
        if isinstance(module, nn.MultiheadAttention) and running.found is not None:
            try:
                compare_output(running.found, output, module.batch_first, self.batch)
            except (Unsupported, ValueError, IndexError, RuntimeError):
                running.found.reasons.append("it puts out something else than the attention that it computed")

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name, before = getattr(func, "__name__", "").removesuffix(".default"), len(self.found)
        if name == "scaled_dot_product_attention":
            self._read(lambda: self._fused(result, *args, **kwargs))
        elif name == "multi_head_attention_forward":
            self._read(lambda: self._multi_head(result, _arguments(args, kwargs)))
        elif name == "flex_attention":
            self._read(lambda: self._flex(result[0], *args, **kwargs))
        elif "attention" in name or "attn" in name:   # flash_attn's, xformers', and torch's own behind its functions
            self.unread.append(f"{self.where} (it calls {name}, which look does not read yet)")
        elif name in MIXING and self._waiting:
            self._mixed(args)
        with suppress(Exception):   # what is called as nobody foresaw has unknown positions; the module goes on
            self._origins.follow(name, args, kwargs, result)
        for attention in self.found[before:] if name not in MIXING else ():
            self._origins.pass_through(attention.number, result)
        if name in SOFTMAX:
            self._softmax(result, args, kwargs)
        return result

    @property
    def where(self) -> str:
        """The name of the module that is being called."""
        return self._stack[-1].name if self._stack else next(iter(self._names.values()))

    def _read(self, read: Callable[[], Attention]) -> None:
        try:
            self.add(read())
        except Exception as error:   # what is called as nobody foresaw is not read; the module goes on
            self.unread.append(f"{self.where} ({first_line(error, 200)})")

    def add(self, attention: Attention) -> None:
        """Add what a module computed, in the order of the pass."""
        attention.number = attention.number if attention.number >= 0 else next(self._numbers)
        if attention.call is not None:
            attention.call.occurrence = sum(known.module == attention.module for known in self.found)
        self.found.append(attention)
        if self._stack:
            self._stack[-1].found = attention

    def _item(self, tensor: Tensor) -> Tensor:
        return item_of(tensor, self.batch)

    def _bound(self, heads: int, queries: int, keys: int, weights: int = 0) -> None:
        """Raise Unsupported for attention over nothing, and beyond the limit before anything of it is copied."""
        if not heads or not queries or not keys:
            raise Unsupported(f"it attends over nothing: {heads} heads of {queries} × {keys} positions")
        self._bytes += 4 * weights
        try:
            LIMITS.refuse_above("import_bytes", self._bytes, "what softmaxes put out up to here", "give shorter inputs")
        except UserError as error:
            raise Unsupported(str(error).rstrip(".")) from error

    def _make_call(self, parts: tuple[Tensor, Tensor, Tensor], mask: Tensor | None, is_causal: bool,
                  scale: float | None) -> Call:
        """Return the call of one text: query (head, q, d_k), key and value (kv_head, k, d), mask (1 or head, q, k), on
        the CPU from now on."""
        self._bound(len(parts[0]), parts[0].shape[1], parts[1].shape[1])
        query, key, value = (as_numbers(part) for part in parts)
        allowed, bias = parse_mask(self._masks, None if mask is None else mask.detach().cpu()[None],
                                   (len(query), query.shape[1], key.shape[1]), is_causal)
        return Call(query, key, value, query.shape[-1] ** -0.5 if scale is None else float(scale), allowed, bias, None,
                    None, (), module=self.where, rows=chosen_rows(query.shape[1]))

    def _fused(self, output: Tensor, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
               dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
               enable_gqa: bool = False) -> Attention:
        """Return what torch.nn.functional.scaled_dot_product_attention was given and put out."""
        same = query.shape[-2] == key.shape[-2] and self._origins.same(query, key)
        queries, keys = self._origins.stream(query), self._origins.stream(key)
        mask = None if attn_mask is None else self._item(self._mask_axes(attn_mask, query))
        query, key, value, output = (self._four_axes(part) for part in (query, key, value, output))
        call = self._make_call((self._item(query), self._item(key), self._item(value)), mask, is_causal, scale)
        call.outputs = as_numbers(self._item(output)[:, torch.from_numpy(call.rows).to(output.device)])
        return Attention(call.module, call, None, same, query.shape[0], output.dtype, reasons=_drops(dropout_p),
                         queries=queries, keys=keys)

    def _flex(self, output: Tensor, query: Tensor, key: Tensor, value: Tensor, score_mod: Callable, block_mask: tuple,
              scale: float, *_: object, **__: object) -> Attention:
        """Return what torch.nn.attention.flex_attention was given and put out. What its functions make of scores is an
        added mask; where that depends on the scores, it is the one of these very scores."""
        item, heads, rows, keys = self.batch if len(query) > 1 else 0, query.shape[1], query.shape[2], key.shape[2]
        places = [torch.arange(count, device=query.device) for count in (heads, rows, keys)]
        every = lambda function, dims: torch.vmap(torch.vmap(torch.vmap(
            function, (*dims, None, None, None, 0)), (*dims, None, None, 0, None)), (*dims, None, 0, None, None))
        text = torch.tensor(item, device=query.device)
        scores = self._item(query).float() @ self._item(key).float().repeat_interleave(
            heads // key.shape[1], 0).transpose(1, 2) * scale
        changed, added = (every(score_mod, (0,))(each, text, *places) for each in (scores, torch.zeros_like(scores)))
        added = added if torch.allclose(changed, scores + added, 1e-5, 1e-5) else changed - scores
        allowed = every(block_mask[-1], ())(text, *places)
        return self._fused(output, query, key, value, added.masked_fill(~allowed, -torch.inf)[None], scale=scale)

    def _multi_head(self, result: tuple[Tensor, Tensor | None], given: dict[str, Any]) -> Attention:
        """Return what torch.nn.functional.multi_head_attention_forward was given and put out."""
        same = given["query"].shape[0] == given["key"].shape[0] and self._origins.same(given["query"], given["key"])
        heads = heads_of(given, result[0], self.batch)
        call = self._make_call(heads.parts, heads.mask, heads.is_causal, None)
        call.outputs = as_numbers(heads.output[torch.from_numpy(call.rows).to(heads.output.device)])[None]
        return Attention(call.module, call, None, same, heads.batch, heads.output.dtype, heads.project,
                         _drops(heads.dropout), self._origins.stream(given["query"]),
                         self._origins.stream(given["key"]))

    def _mask_axes(self, mask: Tensor, query: Tensor) -> Tensor:
        """Return the mask as (batch or 1, head or 1, query, key)."""
        if mask.ndim == 3 and query.ndim == 3 and self._side_by_side(query):
            return mask[:, None]
        return mask.reshape(*[1] * (4 - mask.ndim), *mask.shape)

    def _side_by_side(self, tensor: Tensor) -> bool:
        """Return whether the first axis is that of texts: the module that is being called was given as many."""
        return bool(self._stack) and self._stack[-1].rows == tensor.shape[0]

    def _four_axes(self, tensor: Tensor) -> Tensor:
        """Return (batch, head, token, d) of a tensor with fewer axes: three are texts side by side where the module was
        given as many, and else heads."""
        if tensor.ndim == 4:
            return tensor
        if tensor.ndim == 3:
            return tensor[:, None] if self._side_by_side(tensor) else tensor[None]
        if tensor.ndim == 2:
            return tensor[None, None]
        raise Unsupported(f"it attends over tensors of {tuple(tensor.shape)}, where (batch, head, token, d) was "
                          f"expected")

    def _softmax(self, result: Tensor, args: tuple, kwargs: dict) -> None:
        """A softmax over the last axis of (batch, head, query, key) is attention; of three axes it is where values are
        mixed with it afterwards."""
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if result.ndim not in (3, 4) or dim not in (-1, result.ndim - 1) or not torch.is_floating_point(result):
            return
        given = args[0] if args else kwargs["input"]
        nothing = (given == -torch.inf).all(-1, keepdim=True)   # softmax gives NaN there
        weights = result.masked_fill(nothing, 0) if nothing.any() else result
        found = self._by_hand(self._four_axes(weights), *self._origins.behind(result))
        if found is None:
            return
        found.number = next(self._numbers)
        self._origins.pass_through(found.number, result)
        if result.ndim == 3:
            self._waiting[result.data_ptr()] = found
            self._alive.append(result)
        else:
            self.add(found)

    def _by_hand(self, weights: Tensor, same: bool | None, queries: Stream, keys: Stream) -> Attention | None:
        try:
            item = self._item(weights)
            self._bound(len(item), item.shape[1], item.shape[2], item.numel())
            return Attention(self.where, None, as_numbers(item), same is not False, weights.shape[0], weights.dtype,
                             queries=queries, keys=keys)
        except Unsupported as error:
            self.unread.append(f"{self.where} ({error})")
            return None

    def _mixed(self, args: tuple) -> None:
        """Values that are mixed with a softmax make it attention."""
        first = next(tensors_in(args), None)
        found = None if first is None else self._waiting.pop(first.data_ptr(), None)
        if found is not None:
            self.add(found)


def _drops(probability: float) -> list[str]:
    return [f"it drops {probability:.0%} of its weights at random even when it does not learn"] if probability else []
