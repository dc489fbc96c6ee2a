"""Follow which tensors a module projects, to tell whether queries and keys come from one tensor, as in self-attention,
or from two, as in cross-attention.

Every tensor has a number that survives reshaping. The result of a projection, and of later operations on it, keeps the
numbers of the projected tensors.
"""
import itertools
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from clearhead.model.look.inputs import tensors_in
from clearhead.model.look.replay import FUSED, PRODUCTS, SHAPING

# operations that mix the numbers of a vector, usually with learned weights; results are identified by their inputs
PROJECTIONS = PRODUCTS | {"linear", "addmm", "mm", "conv1d", "conv2d", "conv3d", "embedding", "__rmatmul__",
                          "linear_dynamic", "linear_relu_dynamic", "linear_dynamic_fp16"}
# operations that keep the numbers
RESHAPED = SHAPING | {"contiguous", "clone", "detach", "to", "float", "half", "bfloat16", "double", "type", "type_as",
                      "dropout", "cpu", "cuda", "requires_grad_", "view_as_complex", "view_as_real"}


@dataclass(eq=False)
class Source:
    """What is known of one tensor."""

    number: int                             # shared by reshaped views of the same numbers
    sources: frozenset[int] = frozenset()   # numbers of the tensors projected into it
    calls: frozenset[int] = frozenset()     # numbers of the attention calls passed through as a query
    same: bool | None = None     # for scores: whether query and key come from one tensor; else None
    keys: frozenset[int] = frozenset()      # for scores: the attention calls that the keys passed through
    across: bool = False         # for scores: whether the queries are along another axis than the second last
    derived: bool = False        # whether it is computed from an input; for scores: query and key both are
    weights: bool = False        # whether these are weights of an observed attention call


class Sources:
    """The sources of all tensors in one pass. Keeps no tensor alive."""

    def __init__(self, inputs: Iterable[Tensor]) -> None:
        self._next = itertools.count()
        self._known: MutableMapping[Tensor, Source] = WeakTensorKeyDictionary()
        numbers: dict[object, int] = {}
        for tensor in inputs:   # the same tensor may be passed twice
            made = self._set(tensor, derived=True)
            if tensor.layout is torch.strided:
                made.number = numbers.setdefault((tensor.data_ptr(), tensor.shape), made.number)

    def of(self, tensor: Tensor) -> Source:
        """Return what is known of a tensor."""
        return self._known.get(tensor) or self._set(tensor)

    def _set(self, tensor: Tensor, **known: Any) -> Source:
        made = self._known[tensor] = Source(**{"number": next(self._next)} | known)
        return made

    def follow(self, name: str, args: tuple, options: dict[str, object], result: object) -> None:
        """Record the result of an operation of this name."""
        outputs = [args[0]] if name in ("__setitem__", "__set__") else list(tensors_in([result]))
        given = [each for each in tensors_in([*args, *options.values()]) if not isinstance(each, nn.Parameter)]
        before = [self.of(each) for each in given]
        if name.endswith("_like") or name.startswith("new_"):
            before = []
        weights = [each for each in before if each.weights]
        # the scores of tokens, not what is chosen by them
        scores = max((each for each, tensor in zip(before, given, strict=bool(before))
                      if each.same is not None and tensor.is_floating_point()), default=None,
                     key=lambda each: each.derived)
        known: dict[str, Any] = {"calls": frozenset().union(*(each.calls for each in weights[:1] or before)),
                                 "derived": any(each.derived for each in before)}
        if name in PROJECTIONS:
            known["sources"] = frozenset(each.number for each in before)
            factors = given[1:3] if name == "baddbmm" else given[:2]   # the addend comes first
            if name in PRODUCTS and len(factors) == 2 and not weights:
                query, key = factors if _rows_first(name, args) else factors[::-1]
                known |= {"same": self.same(query, key), "calls": self.of(query).calls, "keys": self.of(key).calls,
                          "derived": self.of(query).derived and self.of(key).derived,
                          "across": name == "einsum" and _is_across(args)}
        elif name in FUSED:
            known["calls"] = self.of(args[0] if args else options["query"]).calls   # type: ignore[arg-type]
        else:
            known["sources"] = frozenset().union(*(each.sources for each in before))
            known["weights"] = bool(weights)
            if scores is not None:
                known |= {"same": scores.same, "calls": scores.calls, "keys": scores.keys, "derived": scores.derived,
                          "across": scores.across ^ (name in SHAPING and _swaps(given[0], outputs[0], slice(-3, -1)))}
                if name in SHAPING and _swaps(given[0], outputs[0], slice(-2, None)):
                    known |= {"calls": scores.keys, "keys": scores.calls}
        if name in RESHAPED and len(outputs) == 1 and before:
            known["number"] = before[0].number
        for output in outputs:
            self._set(output, **known)

    def adopt(self, inputs: Iterable[object], output: object) -> None:
        """Record that a module computed its output from its inputs, unless operations that made the output were
        observed."""
        for tensor in tensors_in([output]):
            if tensor not in self._known:
                self.follow("linear", tuple(inputs), {}, tensor)

    def pass_through(self, number: int, result: object, weights: bool = False) -> None:
        """Record that the attention call with this number returned `result`, or computed these weights."""
        for tensor in tensors_in([result]):
            source = self.of(tensor)
            source.weights, source.calls = weights, source.calls | {number}

    def same(self, query: Tensor, key: Tensor) -> bool:
        """Return whether both are the same tensor or projections of the same one. Passing through attention makes a
        tensor a different one."""
        one, other = self.of(query), self.of(key)
        return one.calls == other.calls and (one.number == other.number or bool(one.sources & other.sources))


def _swaps(before: Tensor, after: Tensor, axes: slice) -> bool:
    """Return whether the second tensor is a view of the first with two axes exchanged."""
    one, other = before.stride()[axes], after.stride()[axes]
    return one == other[::-1] != other and before.data_ptr() == after.data_ptr()


def _letters(args: tuple) -> tuple[list[str], str]:
    """Return the axes of an einsum's factors and of its product; none if they are not given as one string."""
    factors, _, out = args[0].replace(" ", "").partition("->") if isinstance(args[0], str) else ("", "", "")
    return factors.split(","), out


def _is_across(args: tuple) -> bool:
    """Return whether the second last axis of a product by einsum belongs to both factors, as that of heads does."""
    factors, out = _letters(args)
    return len(out) > 1 and all(out[-2] in factor for factor in factors)


def _rows_first(name: str, args: tuple) -> bool:
    """Return whether the rows of a product are those of its first factor."""
    if name != "einsum":
        return True
    (one, *others), out = _letters(args)
    other = "".join(others)
    return next((letter in one for letter in reversed(out[:-1]) if (letter in one) != (letter in other)), True)
