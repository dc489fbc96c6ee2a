"""Prove the order of positions: follow from which row of an input each number of a tensor was computed.

The operations that move numbers are applied to row numbers too. Operations on vectors, such as a linear layer, keep a
row only if all numbers of the vector come from it.
"""
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch
from torch import Tensor

# For each number, its row. There are several candidates until a sum over an axis shows which axis holds the features.
# Empty if the numbers of several rows are mixed.
Rows = tuple[Tensor, ...]
NO_ROW = -1   # row of numbers from elsewhere, such as parameters

AS_IT_IS = frozenset({"clone", "contiguous", "detach", "to", "float", "half", "bfloat16", "double", "type", "type_as",
                      "cpu", "cuda", "requires_grad_"})
# operations that only move numbers, by their first argument or, for the second line, by all tensors in it
MOVES = frozenset({"view", "reshape", "transpose", "permute", "flatten", "unflatten", "squeeze", "unsqueeze",
                   "swapaxes", "swapdims", "movedim", "moveaxis", "t", "expand", "expand_as", "view_as", "reshape_as",
                   "__get__", "__getitem__", "chunk", "split", "split_with_sizes", "unbind", "select", "narrow", "flip",
                   "fliplr", "flipud", "rot90", "roll", "gather", "index_select", "take_along_dim", "pad", "repeat",
                   "repeat_interleave", "tile"})
JOINS = frozenset({"cat", "concat", "concatenate", "stack"})
# operations on vectors; the number of the argument that holds them
VECTORS = {"linear": 0, "addmm": 1, "matmul": 0, "__matmul__": 0, "bmm": 0, "mm": 0, "baddbmm": 1,
           "scaled_dot_product_attention": 0, "multi_head_attention_forward": 0, "flex_attention": 0}
# operations on each number or vector that torch does not tag as such
EACH = frozenset({"softmax", "log_softmax", "layer_norm", "rms_norm", "normalize", "dropout", "dropout_",
                  "alpha_dropout", "feature_dropout", "dropout1d", "hardswish", "prelu", "softsign", "tanhshrink",
                  "logsigmoid", "gumbel_softmax", "masked_fill", "cumsum", "cumprod", "logcumsumexp", "cummax",
                  "__truediv__", "__rtruediv__", "__itruediv__", "__floordiv__", "__pow__", "__rpow__", "__and__",
                  "__or__", "__xor__", "__invert__", "batch_norm", "group_norm", "instance_norm", "tril", "triu",
                  "fill_", "zero_", "__set__"})
# operations whose results are not followed: they combine neighbours, or learn the order
NEAR = ("conv", "pool", "lstm", "gru", "rnn", "einsum", "glu")


def of_input(tensor: Tensor) -> Rows | None:
    """Return the rows of an input; None if its shape does not tell what a position is."""
    shape = tensor.shape
    if not tensor.is_floating_point():
        return (torch.arange(tensor.numel()).view(shape),)
    if tensor.ndim == 2:   # (token, feature) or (text, token)
        each = torch.arange(tensor.numel()).view(shape)
        return each[:, :1].expand(shape), each
    if tensor.ndim == 3:   # (text, token, feature) or (text, feature, token)
        return tuple(torch.arange(shape[0] * shape[axis]).view(
            [size if place in (0, axis) else 1 for place, size in enumerate(shape)]).expand(shape) for axis in (1, 2))
    return None


def after(func: Callable | None, name: str, args: tuple, options: dict[str, object], output: Tensor, place: int,
          known: Callable[[Tensor], Rows | None]) -> Rows | None:
    """Return the rows of output number `place` of an operation, or None if they are unknown."""
    given = [each for value in (*args, *options.values()) for each in _tensors(value)]
    followed = [(each, rows) for each in given if (rows := known(each)) is not None]
    if not followed:
        return None
    first = given[0]
    if name == "conv1d" and output.shape[-1] == first.shape[-1]:   # (text, feature, token)
        return tuple(each[:, :1].expand(output.shape) for each in of_vectors(followed[0][1], -2))
    if any(part in name for part in NEAR):
        return None
    if name == "__setitem__":
        return _assigned(args, output, known)
    if name in ("copy_", "__set__"):
        return known(args[1])
    if name in VECTORS:
        vectors = options.get("query", args[VECTORS[name]] if args else first)
        rows = known(vectors) if isinstance(vectors, Tensor) else None
        if rows is None or (len(followed) > 1 and name in ("matmul", "__matmul__", "bmm")):
            return None
        return tuple(each[..., :1].expand(output.shape) for each in of_vectors(rows))
    if name in ("embedding", "one_hot"):
        return tuple(each[..., None].expand(output.shape) for each in known(first) or ())
    if name in AS_IT_IS:
        return known(first)
    if name == "view_as_complex":
        return tuple(each[..., 0] for each in known(first) or ())
    if name == "view_as_real":
        return tuple(each[..., None].expand(output.shape) for each in known(first) or ())
    if func is not None and name in MOVES:
        move = torch.Tensor.reshape if name == "view" else func
        return tuple(_one(move(each, *args[1:], **options), place) for each in known(first) or ())
    if func is not None and name in JOINS:
        parts = [(part, known(part) or ()) for part in given]
        return tuple(func([rows[min(number, len(rows) - 1)] if rows else torch.full(part.shape, NO_ROW)
                           for part, rows in parts], *args[1:], **options)
                     for number in range(max(len(rows) for _, rows in parts)))
    if name in EACH or _is_pointwise(name):
        return _common([rows for each, rows in followed if each.shape == output.shape])
    return ()


def _tensors(value: object) -> Iterator[Tensor]:
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, Tensor):
            yield each


def _one(result: object, place: int) -> Tensor:
    made = result[place] if isinstance(result, list | tuple) else result
    assert isinstance(made, Tensor)
    return made


def _assigned(args: tuple, output: Tensor, known: Callable[[Tensor], Rows | None]) -> Rows | None:
    """Return the rows of tensor[index] = values. Values from nowhere, such as a learned vector, change no row."""
    before, index, values = known(output), args[1], args[2]
    new = known(values) if isinstance(values, Tensor) else None
    if new is None:
        return before
    rows = [each.clone() for each in before or [torch.full(output.shape, NO_ROW)] * len(new)]
    for number, each in enumerate(rows):
        each[index] = new[min(number, len(new) - 1)] if new else NO_ROW
    return tuple(rows)


def _common(every: Sequence[Rows]) -> Rows | None:
    """Return the rows that several tensors of one shape have in common. Where one is mixed, as the branch beside a
    residual stream may be, the others decide."""
    every = [rows for rows in every if rows] or every[:1]
    return tuple(one for one in every[0] if all(any(_equal(one, other) for other in rows)
                                                for rows in every[1:])) if every else None


def _equal(one: Tensor, other: Tensor) -> bool:
    return (one.data_ptr(), one.stride()) == (other.data_ptr(), other.stride()) or torch.equal(one, other)


@cache
def _is_pointwise(name: str) -> bool:
    """Return whether torch tags an operation as one on each number."""
    plain = name.strip("_")
    spellings = (plain, plain[1:]) if name.startswith(("__r", "__i")) else (plain,)
    packets = [packet for each in spellings if (packet := getattr(torch.ops.aten, each, None)) is not None]
    return any(torch.Tag.pointwise in getattr(packet, overload).tags
               for packet in packets for overload in packet.overloads())


def of_vectors(rows: Rows, axis: int = -1) -> Rows:
    """Return the candidates that are the same along an axis of features."""
    return tuple(each for each in rows if bool((each == each.narrow(axis, 0, 1)).all()))


def sequences(rows: Rows, axis: int = -2) -> list[Tensor]:
    """Return the rows (…, position) of vectors whose positions are along `axis` and whose features are last, or
    second last if the positions are last. They are the same in all heads, the second of four axes."""
    found = [each.movedim(axis, -1).select(-2, 0) for each in of_vectors(rows, -2 if axis == -1 else -1)]
    return [each if each.ndim < 3 else each[:, 0] for each in found
            if each.ndim < 3 or bool((each == each[:, :1]).all())]


def agree(one: Rows | None, other: Rows | None) -> bool:
    """Return whether two tensors of one shape have the same rows."""
    return one is other or bool(one and other and len(_common([one, other]) or ()) == min(len(one), len(other)))


def same_order(one: Rows, other: Rows, axis: int, other_axis: int) -> bool:
    """Return whether two tensors have the same positions in the same order along an axis of each, as far as known."""
    ours, theirs = sequences(one, axis), sequences(other, other_axis)
    return not ours or not theirs or any(torch.equal(mine, its) for mine in ours for its in theirs)


def texts(rows: Rows, axis: int = -2) -> int:
    """Return how many texts the first of three axes holds, each with the same number of heads, or 0 if unknown."""
    for each in sequences(rows, axis):
        _, heads = each[:, 0].unique_consecutive(return_counts=True)
        if bool((heads == heads[0]).all()):
            return len(heads)
    return 0


def in_order(rows: Rows, axis: int = -2) -> bool:
    """Return whether positions are in the order of an input, evenly spaced."""
    steps = [each.diff(dim=-1) for each in sequences(rows, axis)]
    return any(not each.numel() or bool((each == each.flatten()[0]).all() and each.flatten()[0] > 0) for each in steps)
