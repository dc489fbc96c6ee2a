"""Prove the order of positions: follow from which row of an input each number of a tensor was computed.

The operations that move numbers are applied to row numbers too. Operations on vectors, such as a linear layer, keep a
row only if all numbers of the vector come from it.
"""
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import torch
from torch import Tensor

MIXED = -1   # of numbers that come from several rows, or from none, such as parameters
# operations that move numbers: those of their first argument, or of all tensors
MOVES = frozenset({"view", "reshape", "transpose", "permute", "flatten", "unflatten", "squeeze", "unsqueeze",
                   "swapaxes", "swapdims", "movedim", "moveaxis", "t", "expand", "expand_as", "view_as", "reshape_as",
                   "__get__", "__getitem__", "chunk", "split", "split_with_sizes", "unbind", "select", "narrow", "flip",
                   "fliplr", "flipud", "rot90", "roll", "gather", "index_select", "take_along_dim", "pad", "repeat",
                   "repeat_interleave", "tile"})
JOINS = frozenset({"cat", "concat", "concatenate", "stack"})
# operations on vectors; the number of the argument that holds them
VECTORS = {"linear": 0, "addmm": 1, "matmul": 0, "__matmul__": 0, "bmm": 0, "mm": 0, "baddbmm": 1,
           "scaled_dot_product_attention": 0, "multi_head_attention_forward": 0, "flex_attention": 0}
PRODUCTS = frozenset({"matmul", "__matmul__", "bmm"})
WIDENING = frozenset({"embedding", "one_hot", "view_as_real"})
# operations on each number, or within vectors, that torch does not tag as such
EACH = frozenset({"softmax", "log_softmax", "layer_norm", "rms_norm", "normalize", "dropout", "dropout_", "hardswish",
                  "alpha_dropout", "feature_dropout", "prelu", "softsign", "tanhshrink", "logsigmoid", "gumbel_softmax",
                  "cumsum", "cumprod", "cummax", "__truediv__", "__rtruediv__", "__itruediv__", "__floordiv__",
                  "__pow__", "__rpow__", "__and__", "__or__", "__xor__", "__invert__", "batch_norm", "group_norm",
                  "instance_norm", "tril", "triu", "fill_", "zero_", "clone", "contiguous", "detach", "to", "float",
                  "half", "bfloat16", "double", "type", "type_as", "cpu", "cuda", "requires_grad_"})
# operations whose results are not followed: they combine neighbours, or their axes are not known here
NEAR = ("conv", "pool", "lstm", "gru", "rnn", "einsum", "glu")


def tensors_in(values: Iterable[object]) -> Iterator[Tensor]:
    """Yield the tensors among arguments or results, including those in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, Tensor))


def of_input(tensor: Tensor) -> Tensor | None:
    """Return the rows of an input: a number for each integer, or each vector of (text, token, feature). None for other
    shapes, which do not tell what a position is."""
    shape = tensor.shape
    if not tensor.is_floating_point():
        return torch.arange(tensor.numel()).view(shape)
    return torch.arange(shape[:2].numel()).view(*shape[:2], 1).expand(shape) if tensor.ndim == 3 else None


def after(func: Callable | None, name: str, args: tuple, options: dict[str, object], output: Tensor, place: int,
          known: Callable[[Tensor], Tensor | None]) -> Tensor | None:
    """Return the rows of output number `place` of an operation, or None if they are unknown."""
    given = list(tensors_in((*args, *options.values())))
    followed = [(each, rows) for each in given if (rows := known(each)) is not None]
    if not followed or any(part in name for part in NEAR):
        return None
    rows = _or_mixed(known, given[0])
    if name == "__setitem__":
        if isinstance(args[2], Tensor) and known(args[2]) is not None:   # a learned vector changes no row
            rows = rows.clone()
            rows[args[1]] = known(args[2])
        return rows
    if name in ("copy_", "__set__"):
        return known(args[1])
    if name in VECTORS:
        vectors = options.get("query", args[VECTORS[name]] if args else given[0])
        whole = known(vectors) if isinstance(vectors, Tensor) else None
        if whole is None or (len(followed) > 1 and name in PRODUCTS):
            return None
        return of_vectors(whole).expand(output.shape)
    if name in WIDENING:
        return rows[..., None].expand(output.shape)
    if name == "view_as_complex":
        return rows[..., 0]
    if func is not None and name in MOVES | JOINS:
        move = torch.Tensor.reshape if name == "view" else func
        moved = [_or_mixed(known, each) for each in given] if name in JOINS else rows
        made = move(moved, *args[1:], **options)
        return made if isinstance(made, Tensor) else made[place]
    if name in EACH or _is_pointwise(name):
        return _common([rows for each, rows in followed if each.shape == output.shape])
    return torch.full(output.shape, MIXED)


def _or_mixed(known: Callable[[Tensor], Tensor | None], tensor: Tensor) -> Tensor:
    rows = known(tensor)
    return torch.full(tensor.shape, MIXED) if rows is None else rows


def _common(every: list[Tensor]) -> Tensor | None:
    """Return the rows that tensors of one shape have in common. Where one is mixed, as the branch beside a residual
    stream may be, the others decide."""
    common = every[0] if every else None
    for each in every[1:]:
        assert common is not None
        common = torch.where(each == MIXED, common, torch.where((common == each) | (common == MIXED), each, MIXED))
    return common


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


def of_vectors(rows: Tensor) -> Tensor:
    """Return the row of each vector along the last axis, whose size becomes 1."""
    first = rows[..., :1]
    return first.where((rows == first).all(-1, keepdim=True), MIXED)


def sequence(rows: Tensor, axis: int = -2) -> Tensor:
    """Return the row of each position, (…, position), of vectors whose positions are along `axis`. The features are the
    last axis, or the second last if the positions are the last. Heads, the second of four axes, have the same rows."""
    found = of_vectors(rows.transpose(-1, -2) if axis == -1 else rows.movedim(axis, -2))[..., 0]
    if found.ndim < 3:
        return found
    return found[:, 0].where((found == found[:, :1]).all(1), MIXED)


def same_order(one: Tensor | None, other: Tensor | None, axis: int, other_axis: int) -> bool:
    """Return whether two tensors have the same positions in the same order along an axis of each, as far as known."""
    if one is None or other is None:
        return True
    ours, theirs = sequence(one, axis), sequence(other, other_axis)
    return MIXED in ours or MIXED in theirs or torch.equal(ours, theirs)


def in_order(rows: Tensor, axis: int = -2) -> bool:
    """Return whether positions are in the order of an input, evenly spaced."""
    steps = sequence(rows, axis).diff(dim=-1)
    return not steps.numel() or bool((steps == steps.flatten()[0]).all() and steps.flatten()[0] > 0)


def texts(rows: Tensor) -> int:
    """Return how many texts the first of three axes holds, each with the same number of heads, or 0 if unknown."""
    first, heads = sequence(rows)[:, 0].unique_consecutive(return_counts=True)
    return len(heads) if MIXED not in first and bool((heads == heads[0]).all()) else 0
