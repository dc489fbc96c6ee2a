"""Prove the order of positions: follow from which row of an input each number of a tensor was computed.

Only the operations named here are followed. The result of any other operation on an input is of an unknown row, and so
is everything computed from it. Operations that move numbers are applied to row numbers too; operations on vectors, such
as a linear layer, keep a row only if all numbers of the vector come from it.
"""
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import torch
from torch import Tensor

# rows count from 1; these stand for no single row:
CONSTANT = 0   # holds nothing of an input, as parameters do
BESIDE = -1    # mixed over rows by an operation that keeps their order; a residual stream beside it keeps its rows
UNKNOWN_ROW = -2   # from several rows, or in an unknown order
NEW = 1 << 30   # added to the numbers of positions made by a convolution or pooling
NUMBERS, PIXELS = 1 << 40, 1 << 50   # added to the indices of numbers that are not yet vectors, as in a picture
# operations that keep the numbers but change their shape
SHAPING = frozenset({"view", "view_as", "reshape", "reshape_as", "transpose", "permute", "flatten", "unflatten",
                     "squeeze", "unsqueeze", "swapaxes", "swapdims", "movedim", "moveaxis", "t", "expand", "expand_as",
                     "__get__"})
# operations that keep the numbers but change their type or memory
COPYING = frozenset({"contiguous", "clone", "detach", "to", "float", "half", "bfloat16", "double", "int", "long",
                     "bool", "type", "type_as", "dropout", "cpu", "cuda", "requires_grad_"})
JOINING = frozenset({"cat", "concat", "concatenate", "stack"})
CUTTING = frozenset({"__getitem__", "chunk", "split", "split_with_sizes", "unbind", "select", "narrow"})
REORDERING = frozenset({"flip", "fliplr", "flipud", "rot90", "roll", "gather", "index_select", "take_along_dim", "pad"})
MOVES = SHAPING | CUTTING | REORDERING | {"repeat", "repeat_interleave", "tile"}   # numbers of the first argument
# results of attention are not projections: a residual stream stays different from the memory that it attended to
ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "__matmul__", "baddbmm"})   # may combine a query and a key
# operations along one axis: the index of `dim` in their arguments, and its default
ALONG = dict.fromkeys(("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "logsumexp", "all", "any"),
                      (1, None)) | {"sort": (1, -1), "argsort": (1, -1), "topk": (2, -1)}
ADDENDS = {"addmm": 1, "baddbmm": 1}   # how many tensors are added to a product, before its factors
PACKED = frozenset({"linear_dynamic", "linear_relu_dynamic", "linear_dynamic_fp16"})   # weights of 8 or 16 bits
# operations on the vectors of the first tensor, or over a sequence of them, that keep their order
VECTORS = ATTENTION | PACKED | {"_grouped_mm", "grouped_mm", "lstm", "gru", "rnn_tanh", "rnn_relu"}
WIDENING = frozenset({"embedding", "one_hot", "view_as_real"})
# operations on each number, or within vectors, that torch does not tag as such
POINTWISE = frozenset({"softmax", "log_softmax", "layer_norm", "rms_norm", "normalize", "dropout_", "hardswish",
                       "alpha_dropout", "feature_dropout", "prelu", "softsign", "tanhshrink", "logsigmoid",
                       "gumbel_softmax", "__truediv__", "__rtruediv__", "__itruediv__", "__floordiv__", "__and__",
                       "__or__", "__xor__", "__invert__", "batch_norm", "group_norm", "instance_norm", "tril", "triu",
                       "fill_", "zero_", "_softmax", "native_layer_norm"})
# the axis of the vectors that operations on neighbours mix
CHANNELS = {f"{name}{axes}d": -1 - axes for axes in (1, 2, 3)
            for name in ("conv", "conv_transpose", "avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool")}


def tensors_in(values: Iterable[object]) -> Iterator[Tensor]:
    """Yield the tensors among arguments or results, including those in lists and dictionaries."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple | Mapping):
            yield from tensors_in(value.values() if isinstance(value, Mapping) else value)


def rows_of_input(tensor: Tensor) -> Tensor:
    """Number the rows of an input from 1: its integers, or its vectors if its axes are (text, token, feature). In
    another shape each number has its own, until an operation on vectors tells what a position is."""
    shape = tensor.shape
    if tensor.is_floating_point() and tensor.ndim == 3:
        return _counted(shape[:2])[..., None].expand(shape)
    start = 0 if not tensor.is_floating_point() else NUMBERS if tensor.ndim < 3 else PIXELS
    return start + _counted(shape)


def _counted(shape: Iterable[int]) -> Tensor:
    """Return the numbers from 1 in this shape."""
    return torch.arange(1, torch.Size(shape).numel() + 1).view(*shape)


def rows_after(func: Callable, name: str, args: tuple, options: dict[str, object], output: Tensor, number: int,
               known: Callable[[Tensor], Tensor | None], weights: bool) -> Tensor | None:
    """Return the rows of an operation's output with this number, or None if it holds nothing of an input. known:
    returns the rows of an argument. weights: whether an argument is weights of attention."""
    given, shape = list(tensors_in((*args, *options.values()))), output.shape
    if all(known(each) is None for each in given):
        return None
    every = [torch.full(each.shape, CONSTANT) if (rows := known(each)) is None else rows for each in given]
    rows, beside = every[0], torch.full(shape, UNKNOWN_ROW if any(UNKNOWN_ROW in each for each in every) else BESIDE)
    if name in CHANNELS:
        return _of_neighbours(rows, output, CHANNELS[name], beside)
    if "fft" in name or (name.startswith("cum") and output.is_floating_point()):
        return beside
    if name == "__setitem__":
        if isinstance(args[2], Tensor) and known(args[2]) is not None:   # a learned vector changes no row
            rows = rows.clone()
            rows[args[1]] = known(args[2])
        return rows
    if name in ("copy_", "__set__"):
        return every[-1].expand(shape)
    if name in PRODUCTS | {"linear", "addmm", "mm"}:
        first = ADDENDS.get(name, 0)
        if name == "einsum":
            parts = _of_einsum(*letters(args), every)
        else:
            other = every[first + 1].mT if name == "linear" else every[first + 1]
            parts = [rows_of_vectors(every[first]), rows_of_vectors(other.mT).mT]
        product = _of_product([each.expand(shape) for each in parts], weights)
        return _common_of([each.expand(shape) for each in every[:first]] + [product])
    if name in VECTORS and not number:
        vectors = options.get("query", given[0])
        return rows_of_vectors(every[next(place for place, each in enumerate(given) if each is vectors)]).expand(shape)
    if name in WIDENING:
        ids = next((place for place, each in enumerate(given) if not each.is_floating_point()), 0)
        if len(given) > 1 and known(given[1 - ids]) is not None:   # a table that is computed
            return every[1 - ids][given[ids]]
        return every[ids][..., None].expand(shape)
    if name == "view_as_complex":
        return rows[..., 0]
    if name in MOVES | JOINING:
        move = torch.Tensor.reshape if name == "view" else func
        made = move(every if name in JOINING else rows, *args[1:], **options)
        return made if isinstance(made, Tensor) else made[number]
    if name in ("index_add", "index_add_"):
        return _common_of([rows, rows.index_copy(*args[1:3], every[-1])])
    place, default = ALONG.get(name, (0, None))
    axis = options.get("dim", args[place] if len(args) > place else default)
    if place and isinstance(axis, int):
        found = rows_of_vectors(rows.movedim(axis, -1)).movedim(-1, axis)
        return (found if found.ndim == len(shape) else found.squeeze(axis)).expand(shape)
    if name in COPYING | POINTWISE or name.startswith("cum") or _is_pointwise(name):
        return _common_of([each for each in every if each.shape == shape] or [each.expand(shape) for each in every])
    return torch.full(shape, UNKNOWN_ROW)


def _common_of(every: list[Tensor]) -> Tensor:
    """Return the rows that tensors of one shape have in common."""
    if len(every) == 1:
        return every[0]
    numbers = [bool(each.amin() > NUMBERS) for each in every]
    if any(numbers) and not all(numbers):   # a residual stream of vectors that were not counted yet
        every = [rows_of_vectors(each).expand(each.shape) if new else each
                 for each, new in zip(every, numbers, strict=True)]
    return _common(torch.stack(every, -1))[..., 0]


def _common(rows: Tensor) -> Tensor:
    """Return the row that all numbers along the last axis have in common, apart from those that are of no row. The
    axis's size becomes 1."""
    if rows.stride(-1) == 0 or rows.shape[-1] == 1:
        return rows[..., :1]
    highest, lowest = rows.amax(-1, keepdim=True), rows.amin(-1, keepdim=True)
    clash = (lowest == UNKNOWN_ROW) | ((rows != highest) & (rows > 0)).any(-1, keepdim=True)
    return highest.where(highest > 0, lowest).where(~clash, UNKNOWN_ROW)


def _of_product(parts: list[Tensor], weights: bool) -> Tensor:
    """Return the rows of a product from those of its factors, which are unknown if the product sums over positions.
    Products with weights of attention have the rows of the weights, those of queries and keys the queries'."""
    found = parts[0]
    for other in parts[1:]:
        found = found.where(found > 0 if weights else found != CONSTANT, other)
    if weights:
        return found.where(found > 0, BESIDE)
    return found.where(torch.stack(parts).amin(0) != UNKNOWN_ROW, UNKNOWN_ROW)


def _of_einsum(factors: list[str], out: str, every: list[Tensor]) -> list[Tensor]:
    """Return the rows of an einsum's factors along the product's axes, first those with the rows of scores."""
    found = []
    for letters, rows in sorted(zip(factors, every, strict=True), key=lambda pair: out[-1] in pair[0]):
        for letter in set(letters) - set(out):
            rows = rows_of_vectors(rows.movedim(letters.index(letter), -1))[..., 0]
            letters = letters.replace(letter, "")
        rows = rows.permute([letters.index(letter) for letter in out if letter in letters])
        found.append(rows[tuple(slice(None) if letter in letters else None for letter in out)])
    return found


def letters(args: tuple) -> tuple[list[str], str]:
    """Return the axes of an einsum's factors and of its product; none if they are not given as one string."""
    factors, _, out = args[0].replace(" ", "").partition("->") if isinstance(args[0], str) else ("", "", "")
    return factors.split(","), out


def _of_neighbours(rows: Tensor, output: Tensor, axis: int, beside: Tensor) -> Tensor:
    """Return the rows of a convolution or pooling whose channels are along `axis`. It keeps positions, or makes new
    ones in the order of the old."""
    whole = _counted(rows.shape[:2])[..., None].expand(rows.shape) if rows.ndim == 3 else None
    if whole is not None and axis == -2 and torch.equal(rows, whole):   # the input's own channels
        vectors = _counted((len(rows), rows.shape[-1]))[..., None]
    else:
        vectors = rows_of_vectors(rows.movedim(axis, -1))
    if UNKNOWN_ROW in vectors:
        return torch.full(output.shape, UNKNOWN_ROW)
    sizes = output.movedim(axis, -1).shape[:-1]
    if vectors.shape[:-1] != sizes:
        if not bool((vectors.flatten().diff(prepend=torch.tensor([CONSTANT])) > 0).all()):
            return beside
        vectors = NEW + _counted(sizes)[..., None]
    return vectors.movedim(-1, axis).expand(output.shape)


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
    """Return the row of each vector along the last axis, whose size becomes 1. Vectors of numbers that had no rows are
    numbered if they follow each other as in the input."""
    if not rows.numel() or rows.amin() <= NUMBERS:
        return _common(rows)
    first = rows.amin(-1, keepdim=True)
    follow = bool((first.flatten().diff() > 0).all()) and (
        bool(first.min() > PIXELS) or torch.equal(rows, first + torch.arange(rows.shape[-1])))
    return _counted(first.shape) if follow else torch.full(first.shape, UNKNOWN_ROW)


def rows_of_positions(rows: Tensor, axis: int = -2) -> Tensor:
    """Return the row of each position, (…, position), of vectors whose positions are along `axis`. The features are the
    last axis, or the second last if the positions are the last. Heads, the second of four axes, have the same rows."""
    found = rows_of_vectors(rows.transpose(-1, -2) if axis == -1 else rows.movedim(axis, -2))[..., 0]
    if found.ndim < 3:
        return found
    return found[:, 0].where((found == found[:, :1]).all(1), UNKNOWN_ROW)


def same_order(one: Tensor | None, other: Tensor | None, axis: int, other_axis: int) -> bool:
    """Return whether two tensors have the same positions in the same order along an axis of each, as far as known: if
    the rows of one are not known, nor are those of the other."""
    if one is None or other is None:
        return True
    ours, theirs = rows_of_positions(one, axis), rows_of_positions(other, other_axis)
    return torch.equal(ours, theirs) or bool((ours < 0).any() and (theirs < 0).any())


def in_order(rows: Tensor, axis: int = -2) -> bool:
    """Return whether positions are in the order of an input, evenly spaced, apart from those that are of no row, such
    as [CLS]."""
    found = rows_of_positions(rows, axis)
    kept = found[..., (found != CONSTANT).reshape(-1, found.shape[-1]).any(0)]
    steps = kept.diff(dim=-1).unique()
    return bool((kept > 0).all()) and (not len(steps) or (len(steps) == 1 and bool(steps[0] > 0)))


def texts_of(rows: Tensor) -> Tensor | None:
    """Return which of the first of three axes are the heads of each text, (text, head), or None if unknown."""
    found = rows_of_positions(rows)
    known = found[:, (found > 0).all(0)][:, :1].flatten()
    _, heads = known.unique(return_counts=True)
    if not len(known) or bool((heads != heads[0]).any()):
        return None
    return known.argsort(stable=True).view(len(heads), -1)
