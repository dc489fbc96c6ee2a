"""Where a tensor comes from, as far as attention must know it: whether queries and keys are projections of the same
tensor (self-attention) or of two (cross-attention).

Every tensor has a number that survives a change of shape. A projection's result remembers the numbers of what was
projected; what other operations make of it remembers them too. """
import itertools
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

# they mix the numbers of a vector, mostly with learned weights: what follows is known by what went in
PROJECTIONS = frozenset({"linear", "addmm", "matmul", "mm", "bmm", "baddbmm", "einsum", "conv1d", "conv2d", "conv3d",
                         "embedding", "__matmul__", "__rmatmul__"})
# what comes out is nobody's projection: a residual stream that has taken it up is still another than the memory
ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "__matmul__", "baddbmm"})   # that a query and a key may be part of
# the same numbers in another shape, or of another type
RESHAPED = frozenset({"view", "reshape", "transpose", "permute", "contiguous", "flatten", "unflatten", "squeeze",
                      "unsqueeze", "swapaxes", "swapdims", "movedim", "t", "clone", "detach", "to", "float", "half",
                      "bfloat16", "type_as", "dropout", "expand", "cpu", "cuda", "__get__"})


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments or results, also one list deep."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, Tensor))


@dataclass(eq=False)
class Origin:
    """What is known of one tensor."""

    tensor: weakref.ref          # itself
    number: int                  # of it and of the same numbers in another shape
    sources: frozenset[int]      # numbers of what it is a projection of
    same: bool | None = None     # of scores, query · key: whether both come from one tensor; else None


class Origins:
    """Of the tensors of one pass. None is kept alive."""

    def __init__(self) -> None:
        self._next = itertools.count()
        self._known: dict[int, Origin] = {}   # by id(tensor)

    def _of(self, tensor: Tensor) -> Origin:
        known = self._known.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            known = self._set(tensor, None, frozenset(), None)
        return known

    def _set(self, tensor: Tensor, number: int | None, sources: frozenset[int], same: bool | None) -> Origin:
        made = Origin(weakref.ref(tensor), next(self._next) if number is None else number, sources, same)
        self._known[id(tensor)] = made
        return made

    def follow(self, name: str, inputs: Iterable[Any], result: Any) -> None:
        """Notes what came out of an operation of this name."""
        outputs = list(tensors_in([result]))
        given = [each for each in tensors_in(inputs) if not isinstance(each, nn.Parameter)]
        if not outputs or not given:
            return
        before = [self._of(each) for each in given]
        same = next((each.same for each in before if each.same is not None), None)
        if name in PROJECTIONS:
            sources = frozenset(each.number for each in before)
            factors = given[1:3] if name == "baddbmm" else given[:2]   # what is added comes first
            same = self.same(*factors) if name in PRODUCTS and len(factors) == 2 else None
        else:
            sources = frozenset().union(*(each.sources for each in before if name not in ATTENTION))
        number = before[0].number if name in RESHAPED and len(outputs) == 1 else None
        for output in outputs:
            self._set(output, number, sources, same)

    def same(self, query: Tensor, key: Tensor) -> bool:
        """Whether both are the same tensor, or projections of it."""
        one, other = self._of(query), self._of(key)
        return one.number == other.number or bool(one.sources & other.sources)

    def same_behind(self, scores: Tensor) -> bool | None:
        """Of what came from query · key, whether both come from one tensor; None where no such product is known."""
        return self._of(scores).same
