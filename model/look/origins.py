"""Track the origins of tensors, to find out whether queries and keys are projections of the same tensor
(self-attention) or of two (cross-attention), and which input their positions belong to.

Every tensor has a number that survives reshaping. The result of a projection, and of later operations on it, keeps the
numbers of the projected tensors.

A tensor's positions are derived from inputs. `model.look.order` knows which of their rows these are, and whether in
their order; rows that it cannot follow, and tensors that are joined, are positions of their own.
"""
import itertools
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.weak import WeakTensorKeyDictionary

from clearhead.model.core.query import frozen
from clearhead.model.look import order
from clearhead.model.look.order import (
    ATTENTION,
    COPYING,
    JOINING,
    PACKED,
    PRODUCTS,
    REORDERING,
    SHAPING,
    UNKNOWN_ROW,
    letters,
    tensors_in,
)

# operations that mix the numbers of a vector, usually with learned weights; results are identified by their inputs
PROJECTIONS = PACKED | {"linear", "addmm", "matmul", "mm", "bmm", "baddbmm", "einsum", "conv1d", "conv2d", "conv3d",
                        "embedding", "__matmul__", "__rmatmul__"}
RESHAPED = SHAPING | COPYING | {"view_as_complex", "view_as_real"}   # the numbers stay
MOVING = REORDERING | {"take", "sort", "msort", "topk", "scatter", "scatter_", "scatter_add", "scatter_add_",
                       "scatter_reduce", "scatter_reduce_", "index_put", "index_put_", "index_copy", "index_copy_",
                       "index_add", "index_add_", "index_reduce", "masked_scatter", "masked_scatter_", "select_scatter",
                       "slice_scatter", "diagonal_scatter", "as_strided", "as_strided_scatter", "tensordot"}


@frozen
class Derived:
    """Positions that are not those of an input, all and in its order."""

    how: tuple                                     # what distinguishes them: rows, or the operation
    inputs: frozenset                              # numbers of the original inputs
    pieces: tuple[tuple[int, frozenset], ...] = ()   # (size, roots) of tensors joined along an axis
    ordered: bool = True                           # whether their order is proved to be that of an input


class Stream(NamedTuple):
    """The origin of a tensor's positions."""

    roots: frozenset         # numbers of inputs, or `Derived`; empty if they belong to no input
    calls: frozenset[int]    # numbers of the attention calls passed through as a query

    @property
    def inputs(self) -> frozenset:
        """The numbers of the inputs that the positions are derived from."""
        return frozenset().union(*map(_inputs_of, self.roots))

    def of_item(self, batch: int, count: int, length: int) -> "tuple[Stream, frozenset[frozenset]]":
        """Return the stream of batch item `batch` of `count`, each with `length` positions, if inputs were joined into
        a batch; and the roots of all items."""
        roots, beside = set(self.roots), set()
        for root in self.roots:
            sizes = [size for size, _ in root.pieces] if isinstance(root, Derived) else []
            if sum(sizes) == count != length and batch < count:
                ends = list(itertools.accumulate(sizes))
                roots = roots - {root} | root.pieces[next(n for n, end in enumerate(ends) if batch < end)][1]
                beside |= {each for _, each in root.pieces}
        return Stream(frozenset(roots), self.calls), frozenset(beside)


NOTHING = Stream(frozenset(), frozenset())
UNKNOWN = Derived(("made by no observed operation",), frozenset(), ordered=False)
UNSEEN = Stream(frozenset({UNKNOWN}), frozenset())


@dataclass(eq=False)
class Origin:
    """The known origin of one tensor."""

    number: int                  # shared by reshaped views of the same numbers
    sources: frozenset[int] = frozenset()   # numbers of the tensors projected into it
    same: bool | None = None     # for scores: whether query and key come from one tensor; else None
    stream: Stream = NOTHING     # origin of its positions; for scores, of the queries' positions
    keys: Stream | None = None   # for scores: the stream of the keys
    rows: Tensor | None = None   # from which row of an input each number comes
    across: bool = False         # for scores: whether the queries are along another axis than the second last
    weights: bool = False        # whether these are weights of an observed attention call
    texts: Tensor | None = None   # for scores with three axes: the heads of each text in the first


class Origins:
    """The origins of all tensors in one pass. Keeps no tensor alive."""

    def __init__(self) -> None:
        self._next = itertools.count()
        self._counts: list[int] = []   # number of rows of each input, 0 if its shape does not tell
        self._known: MutableMapping[Tensor, Origin] = WeakTensorKeyDictionary()

    def start(self, inputs: Iterable[Tensor], constants: Iterable[Tensor]) -> None:
        """Register the tensors that exist before the pass: inputs in order, whose positions are distinguished, and
        constants, which belong to no input."""
        numbers: dict[object, int] = {}
        for place, tensor in enumerate(inputs):
            made = self._set(tensor, stream=Stream(frozenset({place}), frozenset()), rows=order.rows_of_input(tensor))
            count = int(made.rows.max()) if made.rows is not None and tensor.numel() else 0
            self._counts.append(count if count < order.NUMBERS else 0)
            if tensor.layout is torch.strided:   # the same tensor may be passed twice
                made.number = numbers.setdefault((tensor.data_ptr(), tensor.shape), made.number)
        for tensor in constants:
            self._set(tensor)

    def _of(self, tensor: Tensor) -> Origin:
        known = self._known.get(tensor)
        return known or self._set(tensor, stream=NOTHING if isinstance(tensor, nn.Parameter) else UNSEEN)

    def _set(self, tensor: Tensor, **known: Any) -> Origin:
        made = self._known[tensor] = Origin(**{"number": next(self._next)} | known)
        return made

    def follow(self, func: Callable, name: str, args: tuple, options: dict[str, object], result: object) -> None:
        """Record the result of an operation of this name."""
        outputs, inputs = list(tensors_in([result])), [*args, *options.values()]
        if name in ("__setitem__", "__set__"):
            outputs = [args[0]]
        given = [each for each in tensors_in(inputs) if not isinstance(each, nn.Parameter)]
        if not given or name.endswith("_like") or name.startswith("new_"):
            for output in outputs:
                self._set(output)
            return
        before = [self._of(each) for each in given]
        # the scores of tokens, not what is chosen by them, nor those of relative positions that are added to them
        scores = max((each for each, tensor in zip(before, given, strict=True)
                      if each.keys and tensor.is_floating_point()), default=None,
                     key=lambda each: bool(each.keys and each.keys.roots - {UNKNOWN}))
        moves, weights = _moves(name, args), any(each.weights for each in before)
        same, across, queries, keys, texts = (scores.same, scores.across, scores.stream, scores.keys,
                                              scores.texts) if scores else (None, False, None, None, None)
        if name in PROJECTIONS:
            sources = frozenset(each.number for each in before)
            factors = list(tensors_in(inputs))
            factors = factors[1:3] if name == "baddbmm" else factors[:2]   # the addend comes first
            same = keys = queries = None
            moves = not weights and (name == "einsum" or (len(factors) == 2 and _is_lost(self._of(factors[1]).rows)))
            if name in PRODUCTS and len(factors) == 2 and not isinstance(factors[1], nn.Parameter):
                one, other = factors if _rows_first(name, args) else factors[::-1]
                axes = None if name == "einsum" else (-2, -1)
                queries = self._of(one).stream
                if not weights:   # weights · value is not a score
                    same, texts = self.same(one, other, axes), self.texts(one)
                    queries, keys = self.stream(one, axes and axes[0]), self.stream(other, axes and axes[1])
                    across = name == "einsum" and _is_across(args)
        else:
            sources = frozenset().union(*(each.sources for each in before if name not in ATTENTION))
            if queries and keys and keys.roots and self._moves_cells(name, args, given, outputs[0]):
                both = queries.inputs | keys.inputs
                queries = keys = Stream(frozenset({Derived((name, next(self._next)), both)}), queries.calls)
                same = False
            elif name in SHAPING and keys:
                across ^= _swaps(given[0], outputs[0], slice(-3, -1))
                if _swaps(given[0], outputs[0], slice(-2, None)):
                    queries, keys = keys, queries
        if name in ATTENTION:
            queries, keys = self._of(args[0] if args else options["query"]).stream, None
        itself = {"number": before[0].number} if name in RESHAPED and len(outputs) == 1 else {}
        for number, output in enumerate(outputs):
            stream = queries or self._positions(name, args, options, given)
            try:
                rows = order.rows_after(func, name, args, options, output, number, lambda each: self._of(each).rows,
                                        weights)
            except (RuntimeError, TypeError, ValueError, IndexError):   # what cannot be followed is not proved
                rows = torch.full(output.shape, UNKNOWN_ROW)
            if _is_lost(rows) and (moves or not any(_is_lost(each.rows) for each in before)):
                sources = frozenset()   # an order of its own
                lost = Derived(("lost", next(self._next)), stream.inputs, ordered=False)
                stream = queries or Stream(frozenset({lost}), stream.calls)
            if args and output is args[0] and not order.agree(self._of(output).rows, rows):
                self._forget_memory(output)
            self._set(output, sources=sources, same=same, stream=stream, keys=keys, rows=rows, across=across,
                      texts=texts, weights=weights and name not in PROJECTIONS, **itself)

    def _moves_cells(self, name: str, args: tuple, given: list[Tensor], after: Tensor) -> bool:
        """Return whether an operation may put the scores of queries and keys into another order. A sink that is joined
        to them behind does not."""
        if name in JOINING:
            return after.shape[-2:] != given[0].shape[-2:] and any(self._of(each).rows is not None
                                                                   for each in given[1:])
        return _moves(name, args)

    def _forget_memory(self, changed: Tensor) -> None:
        """Forget the rows of all tensors in the memory of one whose rows were overwritten."""
        memory = changed.untyped_storage().data_ptr()
        for other, origin in self._known.items():
            if other.untyped_storage().data_ptr() == memory:
                origin.rows = torch.full(other.shape, UNKNOWN_ROW)

    def adopt(self, inputs: Iterable[object], output: object) -> None:
        """Record that a module computed its output from its inputs, unless operations that made the output were
        observed."""
        for tensor in tensors_in([output]):
            if tensor not in self._known:
                self.follow(functional.linear, "linear", tuple(inputs), {}, tensor)
                self._of(tensor).rows = torch.full(tensor.shape, UNKNOWN_ROW)

    def _positions(self, name: str, args: tuple, options: dict[str, object], given: list[Tensor]) -> Stream:
        """Return which inputs an operation's output is derived from: those of the largest numeric tensors, and all that
        are joined."""
        if name in ("copy_", "__set__"):
            given = given[1:] or given
        found = [(each, stream) for each in given if (stream := self._of(each).stream) != NOTHING]
        found = [pair for pair in found if pair[0].is_floating_point()] or found
        size = max((each.numel() for each, _ in found), default=0)
        joined = _union(stream for each, stream in found if each.numel() == size or name in JOINING)
        parts = [each for each in tensors_in(args[:1] or options.values()) if each.numel()]
        axis = options.get("dim", args[1] if len(args) > 1 else 0)
        if name not in JOINING or len({self._of(each).stream for each in parts}) < 2 or (
                axis in (-1, parts[0].ndim - (name != "stack")) and parts[0].is_floating_point()):   # features
            return joined
        pieces = tuple((1 if name == "stack" else each.shape[axis],
                        frozenset(map(_flat, self._of(each).stream.roots))) for each in parts)
        return Stream(frozenset({Derived((name, axis), joined.inputs, pieces)}), joined.calls)

    def pass_through(self, number: int, result: object, weights: bool = False) -> None:
        """Record that the attention call with this number returned `result`, or computed these weights."""
        for tensor in tensors_in([result]):
            origin = self._of(tensor)
            origin.weights = weights
            origin.stream = Stream(origin.stream.roots, origin.stream.calls | {number})

    def same(self, query: Tensor, key: Tensor, axes: tuple[int, int] | None = (-2, -2)) -> bool:
        """Return whether both are the same tensor or projections of the same one, with positions in the same order
        along their axes. Passing through attention makes a tensor a different one."""
        one, other = self._of(query), self._of(key)
        ordered = axes is None or order.same_order(one.rows, other.rows, *axes)
        return ordered and one.stream.calls == other.stream.calls and (
            one.number == other.number or bool(one.sources & other.sources))

    def stream(self, tensor: Tensor, axis: int | None = None) -> Stream:
        """Return the origin of a tensor's positions. axis: where they are; if they are not in the order of an input
        there, they are new positions."""
        known = self._of(tensor)
        if axis is None or known.rows is None:
            return known.stream
        found, ordered = order.rows_of_positions(known.rows, axis), order.in_order(known.rows, axis)
        if ordered and any(isinstance(root, Derived) and root.pieces for root in known.stream.roots):
            return known.stream   # joined inputs
        last, whole = int(found.max()), len(found.unique()) == found.max()   # heads may repeat positions
        if ordered and whole and any(self._counts[each] in (0, last) for each in known.stream.inputs):
            return Stream(known.stream.inputs, known.stream.calls)
        how = (found.numpy().tobytes(), *(() if ordered else known.stream.roots))
        return Stream(frozenset({Derived(how, known.stream.inputs, ordered=ordered)}), known.stream.calls)

    def texts(self, tensor: Tensor) -> Tensor | None:
        """Return which of the first of three axes of queries, keys or scores are the heads of each text, (text, head),
        or None if unknown. It is empty for the heads of inputs that were joined, whose rows have equal numbers."""
        known = self._of(tensor)
        pieces = [root.pieces for root in known.stream.roots if isinstance(root, Derived)]
        joined = [size for each in pieces if len({Stream(roots, frozenset()).inputs for _, roots in each}) > 1
                  and (size := sum(size for size, _ in each)) != tensor.shape[1]]   # not along the tokens
        if known.texts is not None or known.rows is None or tensor.ndim != 3:
            return known.texts
        if joined:
            return torch.arange(len(tensor))[:, None] if len(tensor) in joined else torch.zeros(0, 0)
        return order.texts_of(known.rows)

    def holds_features(self, tensor: Tensor) -> bool:
        """Return whether the last axis holds the features of positions."""
        rows, keys = self._of(tensor).rows, self._of(tensor).keys
        if rows is None or (keys and keys.roots):   # scores, whose rows are of added scores of relative positions
            return False
        return bool((order.rows_of_vectors(rows) > 0).any())

    def behind(self, scores: Tensor) -> tuple[bool | None, Stream, Stream, bool]:
        """Return, for a result of query · key, whether both come from one tensor, the streams of queries and keys, and
        whether the queries are along another axis than the second last; None, unknown streams and False if no such
        product is known."""
        origin = self._of(scores)
        return (None, UNSEEN, UNSEEN, False) if origin.keys is None else (
            origin.same, origin.stream, origin.keys, origin.across)


def _inputs_of(root: object) -> frozenset:
    return root.inputs if isinstance(root, Derived) else frozenset({root})


def _flat(root: object) -> Any:
    """Return a root without its pieces, to keep nested roots small."""
    return replace(root, pieces=()) if isinstance(root, Derived) else root


def _union(streams: Iterable[Stream]) -> Stream:
    """Return the common positions of several tensors. A tensor derived from an input and added to it keeps the input's
    positions, as in a residual stream."""
    streams = list(streams)
    roots = frozenset().union(*(each.roots for each in streams))
    plain = frozenset(root for root in roots if not isinstance(root, Derived))
    roots = frozenset(root for root in roots if root in plain or not root.inputs <= plain)
    return Stream(roots, frozenset().union(*(each.calls for each in streams)))


def _index(args: tuple) -> tuple:
    """Return the index in tensor[...], or the operation's other arguments."""
    return args[1] if len(args) > 1 and isinstance(args[1], tuple) else args[1:]


def _moves(name: str, args: tuple) -> bool:
    """Return whether an operation puts positions into another order."""
    return name in MOVING or (name == "__getitem__" and any(isinstance(each, Tensor | list) for each in _index(args)))


def _is_lost(rows: Tensor | None) -> bool:
    """Return whether the row of some number is unknown."""
    return rows is not None and UNKNOWN_ROW in rows


def _swaps(before: Tensor, after: Tensor, axes: slice) -> bool:
    """Return whether the second tensor is a view of the first with two axes exchanged."""
    one, other = before.stride()[axes], after.stride()[axes]
    return one == other[::-1] != other and before.data_ptr() == after.data_ptr()


def _is_across(args: tuple) -> bool:
    """Return whether the second last axis of a product by einsum belongs to both factors, as that of heads does."""
    factors, out = letters(args)
    return len(out) > 1 and all(out[-2] in factor for factor in factors)


def _rows_first(name: str, args: tuple) -> bool:
    """Return whether the rows of a product are those of its first factor."""
    if name != "einsum":
        return True
    (one, *others), out = letters(args)
    other = "".join(others)
    return next((letter in one for letter in reversed(out[:-1]) if (letter in one) != (letter in other)), True)
