"""Observe the attention of any torch module as it runs: every call to torch's own attention, with the calling module,
and every softmax over scores that a module computes itself.

torch passes its function calls to the active mode (torch.overrides.TorchFunctionMode) and avoids its fast path while
one is active, so callers must compare the observed pass with an unobserved one.
"""
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.bias import CausalBias, CausalVariant
from torch.overrides import TorchFunctionMode

from clearhead.model.capture.forward_pass import Call, Memo, Unsupported, parse_mask
from clearhead.model.core.attention import empty_rows
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError, first_line
from clearhead.model.look.inputs import tensors_in
from clearhead.model.look.replay import FUSED, PRODUCTS, SOFTMAX, site_of
from clearhead.model.look.rows import NOT_MEASURED, Rows, Side, over_features, pieces_of, with_all_rows
from clearhead.model.look.sources import Source, Sources

# maximum number of query rows compared; in longer inputs they are evenly spaced
ROWS = 256
NEVER = -1e4   # biases this far below the largest of their row act as a mask
# largest difference that counts as equal, see `model.look.module_pass.prove`, by type
TOLERANCES = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


class Proof(NamedTuple):
    """The differences between one attention call and the module's real output."""

    error: float       # largest difference, see `model.look.module_pass.prove`; 0 if only weights were observed
    row_error: float   # largest difference of a row's sum from 1
    rows: int          # rows compared, over all heads


UNPROVED = Proof(np.inf, np.inf, 0)


@dataclass(eq=False)
class Attention:
    """One attention call of a module."""

    module: str                  # the module's name in the network
    call: Call | None            # input and output of torch's attention; None if only a softmax was observed
    weights: np.ndarray | None   # float32 (head, query, key): the result of a softmax; None if the call is known
    same_source: bool            # whether queries and keys come from the same tensor
    batch: int                   # number of texts in the batch
    dtype: torch.dtype = torch.float32   # type in which it was computed
    # maps the heads' outputs (head, row, d_v) to `call.outputs`; None if they are the same
    project: Callable[[np.ndarray], np.ndarray] | None = None
    reasons: list[str] = field(default_factory=list)   # clauses on why the observation may be wrong
    queries: Side = NOT_MEASURED   # what the rows of queries and keys stand for
    keys: Side = NOT_MEASURED
    number: int = -1         # number of this attention call in the pass
    proof: Proof = UNPROVED
    behind: frozenset[int] = frozenset()   # numbers of the attention calls whose output the keys are

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, keys)."""
        if self.call is not None:
            return self.call.query.shape[1], self.call.key.shape[1]
        assert self.weights is not None
        return self.weights.shape[1], self.weights.shape[2]

    def seen(self, row: int) -> np.ndarray:
        """Return to which keys this query attends, or may attend, bool (head or 1, key)."""
        if self.call is None:
            assert self.weights is not None
            return self.weights[:, row] > 0
        rows, keys = slice(row, row + 1), slice(0, self.shape[1])
        seen = self.call.allowed.block(rows, keys)
        if self.call.bias is None:
            return seen
        bias = np.where(seen, self.call.bias.block(rows, keys), -np.inf)
        return seen & (bias >= bias.max(-1, keepdims=True) + NEVER)

    def is_finite(self) -> bool:
        """Return whether all observed numbers are finite, apart from the outputs of rows without an allowed key."""
        call = self.call
        seen = (self.weights,) if call is None else (call.query, call.key, call.value)
        finite = all(part is None or bool(np.isfinite(part).all()) for part in seen)
        if call is None or call.outputs is None:
            return finite
        return finite and bool(np.isfinite(call.outputs[self.compared]).all())

    @functools.cached_property
    def sees_nothing(self) -> np.ndarray:
        """Rows without an allowed key, bool (head, query)."""
        if self.call is None:
            assert self.weights is not None
            return np.logical_not(self.weights.any(-1))
        return np.broadcast_to(empty_rows(self.call.allowed, *self.shape), (len(self.call.query), self.shape[0]))

    @property
    def compared(self) -> np.ndarray:
        """The mask of the call's outputs to compare, bool (head or 1, row).

        Kernels return 0, NaN or a mean for a row without an allowed key. If a projection mixes heads, whole rows are
        left out. If no row would remain, the finite rows are compared, with that head's output set to 0.
        """
        assert self.call is not None and self.call.rows is not None and self.call.outputs is not None
        sees = ~self.sees_nothing[:, self.call.rows]
        if self.project is None:
            return sees
        whole = sees.all(0)
        rows = whole if whole.any() else np.isfinite(self.call.outputs[0]).all(-1)
        return np.asarray(rows)[None]

    @property
    def tolerance(self) -> float:
        """The largest difference that counts as equal, see `model.look.module_pass.prove`."""
        return TOLERANCES.get(self.dtype, 1e-4)


def chosen_rows(n_queries: int) -> np.ndarray:
    """Return the queries whose outputs are compared."""
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, ROWS)).astype(int))


def as_numbers(tensor: Tensor) -> np.ndarray:
    """Copy the tensor to the CPU as float32. It must be a copy, because the module may overwrite the tensor."""
    copied = tensor.detach().to("cpu", torch.float32, copy=True).contiguous()
    try:
        return copied.numpy()
    except (RuntimeError, TypeError) as error:   # tensors of torch.vmap and nested ones have no storage
        raise Unsupported("its tensors are nested or inside torch.vmap, where look cannot read them; use padded "
                          "tensors with a batch axis") from error


def item_of(tensor: Tensor, batch: int) -> Tensor:
    """Return item `batch` of a tensor (batch, …), or its only item. Raises Unsupported if it has fewer."""
    if tensor.shape[0] == 1:
        return tensor[0]
    if batch >= tensor.shape[0]:
        raise Unsupported(f"its batch has {tensor.shape[0]} items, but number {batch} was requested")
    return tensor[batch]


def _arguments(args: tuple, kwargs: dict[str, object]) -> dict[str, Any]:
    """Return all arguments of torch.nn.functional.multi_head_attention_forward by name; nn.MultiheadAttention calls
    it."""
    given = inspect.signature(functional.multi_head_attention_forward).bind(*args, **kwargs)
    given.apply_defaults()
    return given.arguments


def _projections(given: dict[str, Any]) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Return the weights and biases of queries, keys and values."""
    biases = (None,) * 3 if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)
    if given.get("use_separate_proj_weight"):
        return tuple(given[f"{name}_proj_weight"] for name in "qkv"), biases
    return given["in_proj_weight"].chunk(3), biases


def _mask(given: dict[str, Any], texts: int, batch: int) -> Tensor | None:
    """Return the sum of the attention and padding masks that is added to this text's scores."""
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
    """Convert a boolean mask (True = masked) to an additive one."""
    if mask.dtype != torch.bool:
        return mask.float()
    return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)


def _same_output(found: Attention, output: object, batch_first: bool, batch: int) -> bool:
    """Return whether nn.MultiheadAttention, or a subclass, returns what torch's function did."""
    call, states = found.call, output[0] if isinstance(output, tuple) else output
    if call is None or call.outputs is None or call.rows is None or not isinstance(states, Tensor):
        return True
    if states.ndim == 3:
        states = item_of(states if batch_first else states.transpose(0, 1), batch)
    ours = as_numbers(states[torch.from_numpy(call.rows).to(states.device)])[None]
    scale = float(np.abs(call.outputs[np.isfinite(call.outputs)]).max(initial=0)) or 1.0
    return ours.shape == call.outputs.shape and np.allclose(ours, call.outputs, 0, found.tolerance * scale,
                                                            equal_nan=True)


class Observer(TorchFunctionMode):
    """Observe the attention of one pass, for item `batch` if several texts form a batch.

    Use it as a context around the pass, which must run without gradients.
    """

    def __init__(self, network: nn.Module, batch: int, inputs: Iterable[Tensor], rows: Rows) -> None:
        """Start with the pass's input tensors, and with what was measured of its rows."""
        super().__init__()
        self.batch, self.rows = batch, rows
        self.found: list[Attention] = []
        self.unread: list[str] = []   # sentences on attention that cannot be read
        self._names = {id(module): name or type(network).__name__ for name, module in network.named_modules()}
        self._stack: list[tuple[str, int]] = []   # modules that run, and the calls found before
        self._masks, inputs = Memo(), list(inputs)
        self._sources = Sources(inputs)
        self._first = next((each.shape[:2] for each in inputs if each.ndim > 1), torch.Size([1]))   # texts and tokens
        self._counts: dict[str, int] = {}
        self._labels: tuple[Tensor, Tensor] | None = None   # of the attention that runs
        self._waiting: dict[int, Attention] = {}   # softmax results with three axes, by address
        self._bytes = 0                            # size of the stored weights
        self._numbers = itertools.count()          # numbers the attention calls
        self._alive: list[Tensor] = []             # keeps these results alive, so that no address is reused

    @contextmanager
    def watching(self, network: nn.Module) -> Iterator["Observer"]:
        """Track within the block which module is running."""
        with ExitStack() as hooks:
            for module in network.modules():
                hooks.enter_context(module.register_forward_pre_hook(self._enter))
                hooks.enter_context(module.register_forward_hook(self._leave, always_call=True))
            yield hooks.enter_context(self)

    def _enter(self, module: nn.Module, _args: tuple) -> None:
        self._stack.append((self._names.get(id(module), type(module).__name__), len(self.found)))

    def _leave(self, module: nn.Module, args: tuple, output: object) -> None:
        if not self._stack:
            return
        name, before = self._stack.pop()
        self._sources.adopt(args, output)
        inside = [each for each in self.found[before:] if each.module == name]
        if isinstance(module, nn.MultiheadAttention) and inside:
            same = False
            with suppress(Unsupported, ValueError, IndexError, RuntimeError):
                same = _same_output(inside[-1], output, module.batch_first, self.batch)
            if not same:
                inside[-1].reasons.append("it returns something other than the attention that it computed")

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name, before = getattr(func, "__name__", "").partition(".")[0], len(self.found)
        site = site_of(name, args, kwargs, result, self._counts)
        self._labels = None if site is None else self.rows.sites.get(site)
        if name == "scaled_dot_product_attention":
            self._try(lambda: self.add(self._fused(result, *args, **kwargs)))
        elif name == "multi_head_attention_forward":
            self._try(lambda: self.add(self._multi_head(result, _arguments(args, kwargs))))
        elif name == "flex_attention":
            self._try(lambda: self.add(self._flex(result[0], *args, **kwargs)))
        elif "attention" in name or "attn" in name:   # flash_attn's, xformers', and torch's internal functions
            self.unread.append(f"{self.where} (it calls {name}, which look does not read yet)")
        elif name in PRODUCTS and self._waiting:
            self._mixed(args)
        with suppress(Exception):   # sources stay unknown after unexpected calls; the module continues
            self._sources.follow(name, args, kwargs, result)
        for attention in self.found[before:] if name in FUSED else ():
            self._sources.pass_through(attention.number, result)
        if name in SOFTMAX:
            self._softmax(result, args, kwargs, site is not None)
        return result

    @property
    def where(self) -> str:
        """The name of the running module."""
        return self._stack[-1][0] if self._stack else next(iter(self._names.values()))

    def _try(self, read: Callable[[], None]) -> None:
        try:
            read()
        except Exception as error:   # unexpected calls are not read; the module continues
            self.unread.append(f"{self.where} ({first_line(error, 200)})")

    def add(self, attention: Attention) -> None:
        """Add an attention call, in the order of the pass."""
        attention.number = attention.number if attention.number >= 0 else next(self._numbers)
        if attention.call is not None:
            attention.call.occurrence = sum(known.module == attention.module for known in self.found)
        self.found.append(attention)

    def _item(self, tensor: Tensor) -> Tensor:
        return item_of(tensor, self.batch)

    def _bound(self, heads: int, queries: int, keys: int, weights: int = 0) -> None:
        """Raise Unsupported for empty attention or above the size limit, before anything is copied."""
        if not heads or not queries or not keys:
            raise Unsupported(f"its attention is empty: {heads} heads of {queries} × {keys} positions")
        self._bytes += 4 * weights
        try:
            LIMITS.refuse_above("import_bytes", self._bytes, "the output of softmaxes so far", "give shorter inputs")
        except UserError as error:
            raise Unsupported(str(error).rstrip(".")) from error

    def _attention(self, parts: Iterable[Tensor], mask: Tensor | None, is_causal: bool, scale: float | None,
                   output: Tensor, **known: Any) -> Attention:
        """Build the attention of one text: query (head, q, d_k), key and value (kv_head, k, d), mask (1 or head, q,
        k), output (head or 1, q, d), moved to the CPU. known: other fields."""
        parts = [*parts]
        self._bound(len(parts[0]), parts[0].shape[1], parts[1].shape[1])
        query, key, value = (as_numbers(part) for part in parts)
        allowed, bias = parse_mask(self._masks, None if mask is None else mask.detach().cpu()[None],
                                   (len(query), query.shape[1], key.shape[1]), is_causal)
        rows = chosen_rows(query.shape[1])
        call = Call(query, key, value, query.shape[-1] ** -0.5 if scale is None else float(scale), allowed, bias, None,
                    None, (), module=self.where, rows=rows,
                    outputs=as_numbers(output[:, torch.from_numpy(rows).to(output.device)]))
        return Attention(call.module, call, None, dtype=output.dtype, **known)

    def _known(self, query: Tensor, key: Tensor, texts: Tensor) -> dict[str, Any]:
        """Return what is known of an attention's queries and keys."""
        same = self._sources.same(query, key)
        queries, keys = self._sides(self._labels_of(texts), same)
        return {"same_source": same, "behind": self._sources.of(key).calls, "queries": queries, "keys": keys}

    def _fused(self, output: Tensor, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
               dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
               enable_gqa: bool = False) -> Attention:
        """Record a call of torch.nn.functional.scaled_dot_product_attention."""
        if isinstance(attn_mask, CausalBias):   # its memory holds no mask
            shape, lower = (query.shape[-2], key.shape[-2]), attn_mask.variant is CausalVariant.LOWER_RIGHT
            attn_mask = torch.ones(shape, dtype=torch.bool).tril(lower * (shape[1] - shape[0]))
        mask = None if attn_mask is None else self._item(self._mask_axes(attn_mask, query))
        texts = self._texts(query)
        *parts, whole = (self._four_axes(part, texts) for part in (query, key, value, output))
        return self._attention(map(self._item, parts), mask, is_causal, scale, self._item(whole), batch=len(whole),
                               reasons=_drops(dropout_p), **self._known(query, key, texts))

    def _flex(self, output: Tensor, query: Tensor, key: Tensor, value: Tensor, score_mod: Callable, block_mask: tuple,
              scale: float, *_: object, **__: object) -> Attention:
        """Record a call of torch.nn.attention.flex_attention. The effect of its functions on the scores becomes an
        additive mask, which is valid only for these scores if it depends on them."""
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
        """Record a call of torch.nn.functional.multi_head_attention_forward, whose queries are (q, batch, d_model) or
        (q, d_model). Raises Unsupported if some keys are not tokens."""
        if any(given.get(name) is not None for name in ("bias_k", "bias_v", "static_k", "static_v")) or given.get(
                "add_zero_attn"):
            raise Unsupported("it attends to keys that are not tokens: bias_k, add_zero_attn or static_k")
        batch = given["query"].shape[1] if given["query"].ndim == 3 else 1
        own = lambda part: self._item(part.transpose(0, 1)) if part.ndim == 3 else part
        parts = (
            functional.linear(own(given[name]), weight, bias).unflatten(-1, (given["num_heads"], -1)).transpose(0, 1)
            for name, weight, bias in zip(("query", "key", "value"), *_projections(given), strict=True))
        causal = bool(given.get("is_causal")) and given.get("key_padding_mask") is None and not given["need_weights"]
        weight, bias = as_numbers(given["out_proj_weight"]), given["out_proj_bias"]
        bias = None if bias is None else as_numbers(bias)

        def project(mixed: np.ndarray) -> np.ndarray:
            joined = mixed.swapaxes(0, 1).reshape(mixed.shape[1], -1) @ weight.T
            return (joined if bias is None else joined + bias)[None]

        dropout = given["dropout_p"] if given.get("training", True) else 0.0
        return self._attention(
            parts, None if causal else _mask(given, batch, self.batch), causal, None, own(result[0])[None], batch=batch,
            project=project, reasons=_drops(dropout),
            **self._known(given["query"], given["key"], torch.arange(batch)[:, None]))

    def _mask_axes(self, mask: Tensor, query: Tensor) -> Tensor:
        """Return the mask as (batch or 1, head or 1, query, key)."""
        if mask.ndim == 3 and query.ndim == 3:
            return mask[self._texts(query)] if len(mask) == len(query) else mask[None]
        return mask.reshape(*[1] * (4 - mask.ndim), *mask.shape)

    def _texts(self, tensor: Tensor) -> Tensor:
        """Return which of the first of three axes are the heads of each text, (text, head). If its rows do not show it,
        the first input tells how many texts there are. Raises Unsupported if that does not."""
        if tensor.ndim != 3:
            return torch.zeros(1, 1, dtype=torch.long)
        found, count = None if self._labels is None else pieces_of(torch.cat(self._labels, -1)), len(tensor)
        if found is None:
            first, second = self._first[0], self._first[-1]
            texts = second if first == tensor.shape[1] else first
            if texts not in (1, count):
                raise Unsupported(f"it is not proved which of the {count} pieces along its first axis are heads and "
                                  f"which are texts; give one text")
            found = torch.arange(count).view(texts, -1)
        return found

    def _labels_of(self, texts: Tensor) -> list[Tensor]:
        """Return what the rows of the running attention's queries and keys depend on, each (head, row); [] if this was
        not measured."""
        return [self._item(self._four_axes(each[..., None], texts))[..., 0] for each in self._labels or ()]

    def _sides(self, labels: list[Tensor], same: bool | None) -> tuple[Side, Side]:
        """Return what the rows of queries and keys stand for."""
        return self.rows.sides(labels[0], labels[1], bool(same)) if labels else (NOT_MEASURED, NOT_MEASURED)

    def _four_axes(self, tensor: Tensor, texts: Tensor) -> Tensor:
        """Return a tensor as (batch, head, token, d)."""
        if tensor.ndim == 4:
            return tensor
        if tensor.ndim == 3:
            if len(tensor) != texts.numel() and len(texts) > 1:   # fewer heads of keys
                raise Unsupported("its keys have fewer heads, which cannot be told from texts; give one text")
            return tensor[texts] if len(tensor) == texts.numel() else tensor[None]
        if tensor.ndim == 2:
            return tensor[None, None]
        raise Unsupported(f"it attends to tensors of {tuple(tensor.shape)}, where (batch, head, token, d) was "
                          f"expected")

    def _softmax(self, result: Tensor, args: tuple, kwargs: dict, over_last: bool) -> None:
        """Record a softmax over the last axis of (batch, head, query, key) as attention. With three axes, record it
        only once it multiplies values."""
        if result.ndim not in (3, 4) or not torch.is_floating_point(result):
            return
        source = self._sources.of(result)
        if not over_last:
            if source.same is not None:   # scores
                dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
                self.unread.append(f"{self.where} (its softmax is over axis {dim} of {tuple(result.shape)}; look reads "
                                   f"a softmax over the last axis, that of the keys)")
            return
        if source.across:
            self.unread.append(f"{self.where} (its softmax is over scores of {tuple(result.shape)}, whose second last "
                               f"axis is not that of the queries; transpose them before the softmax)")
            return
        if source.same is None and self._labels is not None and over_features(*self._labels):
            return
        given = args[0] if args else kwargs["input"]
        nothing = (given == -torch.inf).all(-1, keepdim=True)   # rows in which softmax gives NaN
        weights = result.masked_fill(nothing, 0) if nothing.any() else result
        self._try(lambda: self._by_hand(weights, result, source))

    def _by_hand(self, weights: Tensor, result: Tensor, source: Source) -> None:
        """Record a softmax as attention; one with three axes only once it multiplies values."""
        texts, same = self._texts(result), source.same is not False
        weights = self._four_axes(weights, texts)
        item, labels = self._item(weights), self._labels_of(texts)
        if labels:
            item, labels[0] = with_all_rows(item, labels[0].to(item.device))
        self._bound(len(item), item.shape[1], item.shape[2], item.numel())
        queries, keys = self._sides(labels, same)
        found = Attention(self.where, None, as_numbers(item), same, weights.shape[0], weights.dtype,
                          queries=queries, keys=keys, behind=source.keys, number=next(self._numbers))
        self._sources.pass_through(found.number, result, weights=True)
        if result.ndim == 4:
            self.add(found)
        else:
            self._waiting[result.data_ptr()] = found
            self._alive.append(result)

    def _mixed(self, args: tuple) -> None:
        """Record a three-axis softmax as attention once it multiplies values."""
        first = next(tensors_in(args), None)
        found = None if first is None else self._waiting.pop(first.data_ptr(), None)
        if found is not None:
            self.add(found)


def _drops(probability: float) -> list[str]:
    return [f"it drops {probability:.0%} of its weights at random even when it does not learn"] if probability else []
