"""torch.nn.functional.multi_head_attention_forward, which nn.MultiheadAttention calls: its heads from its arguments,
and how its output follows from them."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from model.capture.forward_pass import Unsupported
from model.capture.module_attention import Attention, as_numbers, item_of

# the function's arguments in their order, as far as they may be given without a name
NAMES = ("query", "key", "value", "embed_dim_to_check", "num_heads", "in_proj_weight", "in_proj_bias", "bias_k",
         "bias_v", "add_zero_attn", "dropout_p", "out_proj_weight", "out_proj_bias", "training", "key_padding_mask",
         "need_weights", "attn_mask", "use_separate_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight",
         "static_k", "static_v", "average_attn_weights", "is_causal")


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


def named(args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name; a length that is not ours is a torch that we do not know."""
    if len(args) > len(NAMES):
        raise Unsupported("torch's multi-head attention has arguments that are not known here")
    return dict(zip(NAMES, args, strict=False)) | kwargs


def heads_of(given: dict[str, Any], output: Tensor, batch: int) -> Heads:
    """The heads of text number `batch` from torch's arguments, where queries are (q, batch, d_model) or (q, d_model).
    Raises Unsupported for keys that are no tokens."""
    if any(given.get(name) is not None for name in ("bias_k", "bias_v", "static_k", "static_v")) or given.get(
            "add_zero_attn"):
        raise Unsupported("it attends over keys that are no tokens: bias_k, add_zero_attn or static_k")
    texts = given["query"].shape[1] if given["query"].ndim == 3 else 1
    states = [item_of(part.transpose(0, 1), batch) if part.ndim == 3 else part
              for part in (given["query"], given["key"], given["value"])]
    count = given["num_heads"]
    parts = [functional.linear(state, weight, bias).unflatten(-1, (count, -1)).transpose(0, 1)
             for state, weight, bias in zip(states, *_projections(given), strict=True)]
    causal = bool(given.get("is_causal")) and given.get("key_padding_mask") is None and not given.get("need_weights",
                                                                                                       True)
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
    """Weights and biases of queries, keys and values."""
    biases = (None,) * 3 if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)
    if given.get("use_separate_proj_weight"):
        return tuple(given[f"{name}_proj_weight"] for name in "qkv"), biases
    return given["in_proj_weight"].chunk(3), biases


def _mask(given: dict[str, Any], texts: int, batch: int) -> Tensor | None:
    """What is added to the scores of this text: who may not look where, and the padding nobody may look at."""
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
    """A mask of booleans, which are true where nobody may look, as what is added to scores."""
    if mask.dtype != torch.bool:
        return mask.float()
    return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)


def compare_output(found: Attention, output: Any, batch_first: bool, batch: int) -> None:
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
