"""One attention call in our own words: what transformers passes, as the parts of `model.core.record.Layer`."""
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from model.core.allocator import on_own_pages
from model.core.masks import Bias, Causal, Dense, Full, Mask, Relative, recognise_bias, recognise_mask
from model.core.record import Layer

if TYPE_CHECKING:
    from torch import Tensor

DROWNED = -1e20   # added to a score, it leaves nothing of it in float32, and a file may hold it
LARGE = 2**20  # bytes of queries from which a call counts as large
SINKS = ("s_aux", "sinks")
# Keywords that are read here, or that change nothing about who looks where beyond the mask that comes with them. A
# model that passes any other is shown as reported.
KNOWN = frozenset({
    "scaling", "dropout", "is_causal", "position_bias", "softcap", *SINKS, "sliding_window", "position_ids",
    "cache_position", "position_embeddings", "deterministic", "output_attentions", "output_hidden_states", "use_cache",
    "return_dict", "labels", "logits_to_keep", "token_type_ids", "layer_idx", "cu_seq_lens_q", "cu_seq_lens_k",
    "max_length_q", "max_length_k", "num_items_in_batch", "encoder_hidden_states", "encoder_attention_mask",
    "past_key_values", "output_router_logits"})


class Unsupported(Exception):
    """The capture cannot follow this model; the message says why. The model may still be shown as reported."""


@dataclass(eq=False)
class Call:
    """What one attention call was given and put out: the numbers of a `model.core.record.Layer`, and where it was."""

    query: np.ndarray                       # float32 (head, q, d_k)
    key: np.ndarray                         # float32 (kv_head, k, d_k)
    value: np.ndarray                       # float32 (kv_head, k, d_v)
    scale: float                            # of the scores
    allowed: Mask                           # who may look where
    bias: Bias                              # added to the scores
    softcap: float | None                   # bounds the scores
    sink: np.ndarray | None                 # (head), a logit that belongs to no token
    unknown: tuple[str, ...]                # keywords whose meaning is not known here
    temperature: np.ndarray | None = None   # (head), of the edit `Temper`
    module: str = ""                        # its name in the network
    occurrence: int = 0                     # how often the module was called before in this pass
    rows: np.ndarray | None = None          # queries whose outputs are kept
    outputs: np.ndarray | None = None       # float32 (head, row, d_v) of those queries

    def layer(self, index: int) -> Layer:
        """The call as a layer of the record, checked."""
        return Layer(index, self.query, self.key, self.value, self.scale, self.allowed, self.bias, self.softcap,
                     self.sink, self.temperature)


@dataclass(eq=False)
class Memo:
    """The masks and biases recognised in this pass: layers share them, and looking at one costs n². Few are held, as
    they are n² too."""

    known: deque = field(default_factory=lambda: deque(maxlen=4))   # (identity, tensor, result)

    def get(self, tensor: "Tensor", recognise: Callable) -> Any:
        """recognise(tensor), computed once for all layers that pass the same numbers. The tensor is held, so that no
        other comes to lie at its address."""
        identity = (recognise, tensor.data_ptr(), tensor.shape, tensor.stride())
        for known, _, result in self.known:
            if known == identity:
                return result
        result = recognise(tensor)
        self.known.append((identity, tensor, result))
        return result


def as_array(tensor: "Tensor") -> np.ndarray:
    """float32 (head, token, d) of a tensor (1, head, token, d), without a copy where it is float32 already."""
    import torch

    return (tensor if tensor.dtype == torch.float32 and not tensor.requires_grad
            else tensor.detach().float()).numpy()[0]


def copy_if_large(array: np.ndarray, large: bool) -> np.ndarray:
    """The array as a record may keep it: of a large call on pages of its own. Small arrays pin the heap as well as
    large ones."""
    return on_own_pages(array) if large else array


def parse_call(memory: Memo, module: Any, tensors: "tuple[Tensor, ...]", mask: "Tensor | None",
               options: dict[str, Any]) -> Call:
    """The call that transformers makes, as `Call`. tensors: query (1, head, q, d_k), key and value (1, kv_head, k, d).
    Raises Unsupported for a mask of another shape."""
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
    if "position_bias" in options:
        bias = _add(bias, memory.get(options["position_bias"].expand(1, *shape), _bias), shape)
    sink, bias = _sink(next((options[word] for word in SINKS if word in options), None), bias, shape)
    scale = float(options.get("scaling", 1 / math.sqrt(query.shape[-1])))
    large = query.numel() * 4 >= LARGE
    queries, keys, values = (copy_if_large(as_array(tensor), large) for tensor in tensors)
    return Call(queries, keys, values, scale, allowed, bias, options.get("softcap"), sink,
                tuple(sorted(options.keys() - KNOWN)))


def parse_mask(memory: Memo, mask: "Tensor | None", shape: tuple[int, int, int],
               is_causal: bool) -> tuple[Mask, Bias]:
    """Who may look where, and what a float mask (1, 1 or head, query or 1, key) adds. Without a mask `is_causal`
    decides, as in the kernel."""
    import torch

    if mask is None:
        return (Causal() if is_causal and shape[1] > 1 else Full()), None
    mask = mask.expand(1, -1, *shape[1:])
    if mask.dtype == torch.bool:
        return memory.get(mask, _bool_mask), None
    allowed, bias = memory.get(mask, _float_mask)
    return allowed, _add(None, bias, shape)


def _bool_mask(mask: "Tensor") -> Mask:
    return recognise_mask(mask[0].numpy())


def _float_mask(mask: "Tensor") -> tuple[Mask, Bias]:
    """A float mask is added to the scores: where it is as low as its type goes it forbids, elsewhere it is a bias. A
    row that is so low at every key and finite forbids nothing: it drowns the scores, and the row is uniform."""
    import torch

    numbers = mask[0].float()
    allowed = numbers > torch.finfo(mask.dtype).min / 2
    drowned = ~allowed.any(-1, keepdim=True) & torch.isfinite(numbers).all(-1, keepdim=True)
    if drowned.any():
        allowed = allowed | drowned
        numbers = numbers.masked_fill(drowned, DROWNED)
    return recognise_mask(allowed.numpy()), recognise_bias(numbers.masked_fill(~allowed, 0).numpy())


def _sink(sink: "Tensor | None", bias: Bias, shape: tuple[int, int, int]) -> tuple[np.ndarray | None, Bias]:
    """A sink's logits (head), and the bias with it. Where each query has a sink of its own (Inkling 2), it is taken
    from the row's scores and becomes 0: shifting all logits of a row alike, the sink's too, changes no weight."""
    if sink is None:
        return None, bias
    numbers = sink.detach().float().numpy()
    if numbers.size == shape[0]:
        return numbers.reshape(-1), bias
    shift = np.broadcast_to(-numbers.reshape(*shape[:2], 1), shape)
    return np.zeros(shape[0], np.float32), _add(bias, recognise_bias(shift), shape)


def _bias(tensor: "Tensor") -> Bias:
    return recognise_bias(tensor[0].detach().float().numpy())


def _add(one: Bias, other: Bias, shape: tuple[int, int, int]) -> Bias:
    """The sum of two biases, for as many heads as the layer has."""
    if isinstance(other, Relative) and len(other.by_offset) == 1 < shape[0]:
        other = Relative(np.repeat(other.by_offset, shape[0], axis=0), other.n_queries)
    if isinstance(other, Dense) and other.values.shape[:-2] == (1,):
        other = Dense(other.values[0])
    if one is None or other is None:
        return one if other is None else other
    rows, keys = slice(0, shape[1]), slice(0, shape[2])
    both = one.block(rows, keys) + other.block(rows, keys)
    return _add(None, recognise_bias(both if both.ndim == 3 else both[None]), shape)
