"""Prove the order of positions: follow from which row of an input each number of a tensor was computed.

The operations that move numbers are applied to row numbers too. Operations on vectors, such as a linear layer, keep a
row only if all numbers of the vector come from it.
"""
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import torch
from torch import Tensor

MIXED = 0   # the row of numbers that come from several rows, or from none, such as parameters
# operations that keep the numbers but change their shape
SHAPING = frozenset({"view", "view_as", "reshape", "reshape_as", "transpose", "permute", "flatten", "unflatten",
                     "squeeze", "unsqueeze", "swapaxes", "swapdims", "movedim", "moveaxis", "t", "expand", "expand_as",
                     "__get__"})
# operations that keep the numbers but change their type or memory
COPYING = frozenset({"contiguous", "clone", "detach", "to", "float", "half", "bfloat16", "double", "type", "type_as",
                     "dropout", "cpu", "cuda", "requires_grad_"})
JOINING = frozenset({"cat", "concat", "concatenate", "stack"})
CUTTING = frozenset({"__getitem__", "chunk", "split", "split_with_sizes", "unbind", "select", "narrow"})
REORDERING = frozenset({"flip", "fliplr", "flipud", "rot90", "roll", "gather", "index_select", "take_along_dim", "pad"})
MOVES = SHAPING | CUTTING | REORDERING | {"repeat", "repeat_interleave", "tile"}   # numbers of the first argument
# results of attention are not projections: a residual stream stays different from the memory that it attended to
ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "__matmul__", "baddbmm"})   # may combine a query and a key
# operations on vectors: which of the tensors given holds them
VECTORS = dict.fromkeys((*ATTENTION, "linear", "matmul", "__matmul__", "bmm", "mm"), 0) | {"addmm": 1, "baddbmm": 1}
WIDENING = frozenset({"embedding", "one_hot", "view_as_real"})
# operations on each number, or within vectors, that torch does not tag as such
POINTWISE = frozenset({"softmax", "log_softmax", "layer_norm", "rms_norm", "normalize", "dropout_", "hardswish",
                       "alpha_dropout", "feature_dropout", "prelu", "softsign", "tanhshrink", "logsigmoid",
                       "gumbel_softmax", "cumsum", "cumprod", "cummax", "__truediv__", "__rtruediv__", "__itruediv__",
                       "__floordiv__", "__and__", "__or__", "__xor__", "__invert__", "batch_norm", "group_norm",
                       "instance_norm", "tril", "triu", "fill_", "zero_"})
# the axis of the vectors that operations on neighbours mix
CHANNELS = {f"{name}{axes}d": -1 - axes for name in ("conv", "conv_transpose") for axes in (1, 2, 3)} | dict.fromkeys(
    ("lstm", "gru", "rnn_tanh", "rnn_relu"), -1)
# parts of the names of operations that combine neighbours, or whose axes are not known here: rows become unknown
UNFOLLOWED = ("conv", "pool", "lstm", "gru", "rnn", "einsum", "glu")


def tensors_in(values: Iterable[object]) -> Iterator[Tensor]:
    """Yield the tensors among arguments or results, including those in lists and dictionaries."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple | Mapping):
            yield from tensors_in(value.values() if isinstance(value, Mapping) else value)


def rows_of_input(tensor: Tensor) -> Tensor | None:
    """Number the rows of an input from 1: its integers, or its vectors if its axes are (text, token, feature). Return
    None for other shapes, which do not tell what a position is."""
    shape = tensor.shape
    if not tensor.is_floating_point():
        return torch.arange(1, tensor.numel() + 1).view(shape)
    return torch.arange(1, shape[:2].numel() + 1).view(*shape[:2], 1).expand(shape) if tensor.ndim == 3 else None


def rows_after(func: Callable, name: str, args: tuple, options: dict[str, object], output: Tensor, number: int,
               known: Callable[[Tensor], Tensor | None]) -> Tensor | None:
    """Return the rows of an operation's output with this number, or None if they are unknown. known: returns the rows
    of an argument."""
    given = list(tensors_in((*args, *options.values())))
    followed = [(each, rows) for each in given if (rows := known(each)) is not None]
    if not followed:
        return None
    rows = _or_mixed(known, given[0])
    if name in CHANNELS and rows.any() and not rows_of_vectors(rows.movedim(CHANNELS[name], -1)).any():
        return torch.full(output.shape, MIXED)   # each vector is of several positions
    if any(part in name for part in UNFOLLOWED):
        return None
    if name == "__setitem__":
        if isinstance(args[2], Tensor) and known(args[2]) is not None:   # a learned vector changes no row
            rows = rows.clone()
            rows[args[1]] = known(args[2])
        return rows
    if name in ("copy_", "__set__"):
        return known(given[-1])
    if name in VECTORS:
        at = VECTORS[name]
        vectors = options.get("query", given[at])
        whole = known(vectors) if isinstance(vectors, Tensor) else None
        if whole is None or (name in PRODUCTS and known(given[at + 1]) is not None):
            return None
        return rows_of_vectors(whole).expand(output.shape)
    if name in WIDENING:
        return rows[..., None].expand(output.shape)
    if name == "view_as_complex":
        return rows[..., 0]
    if name in MOVES | JOINING:
        move = torch.Tensor.reshape if name == "view" else func
        moved = [_or_mixed(known, each) for each in given] if name in JOINING else rows
        made = move(moved, *args[1:], **options)
        return made if isinstance(made, Tensor) else made[number]
    if name in COPYING | POINTWISE or _is_pointwise(name):
        return _common([rows for each, rows in followed if each.shape == output.shape])
    return torch.full(output.shape, MIXED)


def _or_mixed(known: Callable[[Tensor], Tensor | None], tensor: Tensor) -> Tensor:
    rows = known(tensor)
    return torch.full(tensor.shape, MIXED) if rows is None else rows


def _common(every: list[Tensor]) -> Tensor | None:
    """Return the rows that tensors of one shape have in common. Where one is mixed, as the branch beside a residual
    stream may be, the others decide."""
    if len(every) < 2:
        return every[0] if every else None
    stacked = torch.stack(every)
    highest = stacked.amax(0)
    return highest.where(((stacked == highest) | (stacked == MIXED)).all(0), MIXED)


@cache
def _is_pointwise(name: str) -> bool:
    """Return whether torch tags an operation as one on each number."""
    plain = name.strip("_")
    spellings = (plain, plain[1:]) if name.startswith(("__r", "__i")) else (plain,)
    packets = [packet for each in spellings if (packet := getattr(torch.ops.aten, each, None)) is not None]
    return any(torch.Tag.pointwise in getattr(packet, overload).tags
               for packet in packets for overload in packet.overloads())


def agree(one: Tensor | None, other: Tensor | None) -> bool:
    """Return whether two tensors of one shape have the same rows."""
    return one is other or (one is not None and other is not None and torch.equal(one, other))


def rows_of_vectors(rows: Tensor) -> Tensor:
    """Return the row of each vector along the last axis, whose size becomes 1."""
    first = rows[..., :1]
    return first.where((rows == first).all(-1, keepdim=True), MIXED)


def rows_of_positions(rows: Tensor, axis: int = -2) -> Tensor:
    """Return the row of each position, (…, position), of vectors whose positions are along `axis`. The features are the
    last axis, or the second last if the positions are the last. Heads, the second of four axes, have the same rows."""
    found = rows_of_vectors(rows.transpose(-1, -2) if axis == -1 else rows.movedim(axis, -2))[..., 0]
    if found.ndim < 3:
        return found
    return found[:, 0].where((found == found[:, :1]).all(1), MIXED)


def same_order(one: Tensor | None, other: Tensor | None, axis: int, other_axis: int) -> bool:
    """Return whether two tensors have the same positions in the same order along an axis of each, as far as known: if
    one has mixed rows, so has the other."""
    if one is None or other is None:
        return True
    ours, theirs = rows_of_positions(one, axis), rows_of_positions(other, other_axis)
    return torch.equal(ours, theirs) or (MIXED in ours and MIXED in theirs)


def in_order(rows: Tensor, axis: int = -2) -> bool:
    """Return whether positions are in the order of an input, evenly spaced."""
    found = rows_of_positions(rows, axis)
    steps = found.diff(dim=-1).unique()
    return not len(steps) or (len(steps) == 1 and bool(steps[0] > 0) and MIXED not in found)


def count_texts(rows: Tensor) -> int:
    """Return how many texts the first of three axes holds, each with the same number of heads, or 0 if unknown."""
    first, heads = rows_of_positions(rows)[:, 0].unique_consecutive(return_counts=True)
    return len(heads) if MIXED not in first and bool((heads == heads[0]).all()) else 0
