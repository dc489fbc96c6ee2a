"""One attention call in our own words: what transformers passes, as the parts of `model.record.Layer`."""
import ctypes
import math
import mmap
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from model.masks import Bias, Causal, Full, Mask, Relative, recognise_bias, recognise_mask
from model.record import Layer

OWN_PAGES = 2**20  # bytes of queries from which a call counts as large
AT_ONCE = ("MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_POPULATE")  # Linux: pages that are there from the start cost two thirds of those that come one by one
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8   # glibc's malloc.h
SINKS = ("s_aux", "sinks")
# Keywords that say nothing more about who looks where than the mask that comes with them. Any other makes the model reported.
KNOWN = frozenset({
    "scaling", "dropout", "is_causal", "position_bias", "softcap", *SINKS, "sliding_window", "position_ids", "cache_position",
    "position_embeddings", "deterministic", "output_attentions", "output_hidden_states", "use_cache", "return_dict", "labels", "logits_to_keep",
    "token_type_ids", "layer_idx", "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", "num_items_in_batch",
    "encoder_hidden_states", "encoder_attention_mask", "past_key_values", "output_router_logits"})


class Unsupported(Exception):
    """The capture cannot follow this model; the message says why. The model may still be shown as reported."""


@dataclass(eq=False)
class Call:
    """What one attention call was given and put out; the first fields are `model.record.Layer`'s. outputs: float32 (head, row, d_v) of `rows`."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    scale: float
    allowed: Mask
    bias: Bias
    softcap: float | None
    sink: np.ndarray | None
    unknown: tuple[str, ...]
    temperature: np.ndarray | None = None
    module: str = ""
    occurrence: int = 0
    rows: np.ndarray | None = None
    outputs: np.ndarray | None = None

    def layer(self, index: int) -> Layer:
        """The call as a layer of the record, checked."""
        return Layer(index, self.query, self.key, self.value, self.scale, self.allowed, self.bias, self.softcap, self.sink, self.temperature)


@dataclass(eq=False)
class Memory:
    """What was recognised in this pass: layers share masks and biases, and looking at one costs n². Few are kept, as they are n² too."""

    known: deque = field(default_factory=lambda: deque(maxlen=4))

    def once(self, tensor, recognise: Callable):
        """recognise(tensor), asked once for all layers that pass the same numbers. The tensor is held, so that its address stays its own."""
        mark = (recognise, tensor.data_ptr(), tensor.shape, tensor.stride())
        for each, _, result in self.known:
            if each == mark:
                return result
        result = recognise(tensor)
        self.known.append((mark, tensor, result))
        return result


def array(tensor) -> np.ndarray:
    """float32 (head, token, d) of a tensor (1, head, token, d), without a copy where it is float32 already."""
    import torch

    return (tensor if tensor.dtype == torch.float32 and not tensor.requires_grad else tensor.detach().float()).numpy()[0]


def in_own_pages(array: np.ndarray, large: bool) -> np.ndarray:
    """An array of a large call, copied into pages of its own; of a small call as it is.

    What is kept of each layer would otherwise lie between the numbers that the layer throws away, so that the heap grew by those too:
    three times the record for 30 layers at 1,024 tokens. Small arrays pin the heap as well as large ones.
    """
    if not large:
        return array
    if sys.platform == "win32":
        pages = mmap.mmap(-1, array.nbytes)
    else:
        pages = mmap.mmap(-1, array.nbytes, flags=sum(getattr(mmap, name, 0) for name in AT_ONCE))
    kept = np.frombuffer(pages, np.float32).reshape(array.shape)
    kept[...] = array
    return kept


def give_back_holes() -> None:
    """Hands the heap's free pages back to the system, where the C library can (glibc's malloc_trim).

    What each layer throws away leaves holes that the next layer's numbers do not fit: 5 MB a layer for SmolLM2 at 1,024 tokens.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def keep_heap() -> None:
    """Has the C library (glibc's mallopt) keep what a pass frees for the next one, as it does by itself once an array of 32 MB was freed.

    Otherwise a pass over 64 tokens asks the system for its 3 MB anew each time: 800 page faults, a thirtieth of its time. And all threads share two
    heaps; by itself each has its own, up to eight a core, and what a session's thread has freed there is of no use to the next one.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if tune is not None:
        tune(MMAP_THRESHOLD, 32 * 2**20)
        tune(TRIM_THRESHOLD, 64 * 2**20)
        tune(ARENA_MAX, 2)


def understand(memory: Memory, module, tensors: tuple, mask, options: dict) -> Call:
    """The call that transformers makes, as `Call`. tensors: query (1, head, q, d_k), key and value (1, kv_head, k, d)."""
    query, key, _ = tensors
    shape = (query.shape[1], query.shape[2], key.shape[2])
    allowed, bias = _mask(memory, module, mask, shape, options.get("is_causal"))
    if options.get("position_bias") is not None:
        bias = _add(bias, memory.once(options["position_bias"].expand(1, *shape), _bias), shape)
    sink, bias = _sink(next((options[word] for word in SINKS if options.get(word) is not None), None), bias, shape)
    scale = options.get("scaling")
    large = query.numel() * 4 >= OWN_PAGES
    numbers = [in_own_pages(array(each), large) for each in tensors]
    return Call(numbers[0], numbers[1], numbers[2], 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale), allowed, bias,
                options.get("softcap"), sink,
                tuple(sorted(word for word, meaning in options.items() if meaning is not None and word not in KNOWN)))


def _mask(memory: Memory, module, mask, shape: tuple[int, int, int], is_causal: bool | None) -> tuple[Mask, Bias]:
    """Who may look where, and what a float mask adds. Without a mask the call's `is_causal` decides, or else the module's, as in the kernel."""
    import torch

    if mask is None:
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        return (Causal() if causal and shape[1] > 1 else Full()), None
    if mask.ndim != 4:
        raise Unsupported(f"{type(module).__name__} passes a mask of {tuple(mask.shape)}, where (1, head, query, key) was expected")
    mask = mask.expand(1, -1, *shape[1:])
    if mask.dtype == torch.bool:
        return memory.once(mask, _bool_mask), None
    allowed, bias = memory.once(mask, _float_mask)
    return allowed, _add(None, bias, shape)


def _bool_mask(mask) -> Mask:
    return recognise_mask(mask[0].numpy())


def _float_mask(mask) -> tuple[Mask, Bias]:
    """A float mask is added to the scores: where it is as low as its type goes it forbids, elsewhere it is a bias."""
    import torch

    numbers = mask[0].float()
    allowed = numbers > torch.finfo(mask.dtype).min / 2
    return recognise_mask(allowed.numpy()), recognise_bias(numbers.masked_fill(~allowed, 0).numpy())


def _sink(sink, bias: Bias, shape: tuple[int, int, int]) -> tuple[np.ndarray | None, Bias]:
    """A sink's logits, one a head. Where each query has its own (Inkling 2), its row's scores are told relative to it, and the sink is 0: the
    softmax of a row does not change when all its logits, the sink too, are shifted alike."""
    if sink is None:
        return None, bias
    numbers = sink.detach().float().numpy()
    if numbers.size == shape[0]:
        return numbers.reshape(-1), bias
    shift = np.broadcast_to(-numbers.reshape(*shape[:2], 1), shape)
    return np.zeros(shape[0], np.float32), _add(bias, recognise_bias(shift), shape)


def _bias(tensor) -> Bias:
    return recognise_bias(tensor[0].detach().float().numpy())


def _add(one: Bias, other: Bias, shape: tuple[int, int, int]) -> Bias:
    """The sum of two biases, for as many heads as the layer has."""
    if isinstance(other, Relative) and len(other.by_offset) == 1 < shape[0]:
        other = Relative(np.repeat(other.by_offset, shape[0], axis=0), other.n_queries)
    if one is None or other is None:
        return one if other is None else other
    rows, keys = slice(0, shape[1]), slice(0, shape[2])
    return recognise_bias(one.block(rows, keys) + other.block(rows, keys))
