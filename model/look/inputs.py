"""Prepare a module's inputs: tensors, moved to its device."""
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from clearhead.model.core.query import UserError, with_arrays

if TYPE_CHECKING:
    from torch import Tensor, nn

WANTED = ("inputs are a tensor, a tuple of tensors or a dictionary of keyword arguments, such as what a tokenizer "
          "returns with return_tensors=\"pt\"")


def tensors_in(values: "Iterable[object]") -> "Iterator[Tensor]":
    """Yield the tensors among arguments or results, including those in lists and dictionaries."""
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple | Mapping):
            yield from tensors_in(value.values() if isinstance(value, Mapping) else value)


def mapped(value: Any, change: "Callable[[Tensor], Tensor | None]") -> Any:
    """Return arguments with `change` applied to each tensor in them, at any depth."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        # the class may have more than items, as a BatchEncoding of transformers has; a copy of others may share them
        result: dict | UserDict = copy(value) if isinstance(value, dict | UserDict) else {}
        for name, each in value.items():
            result[name] = mapped(each, change)
        return result
    if isinstance(value, tuple | list):
        made = [mapped(each, change) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


@with_arrays
class Inputs:
    """The arguments of a module call."""

    args: tuple[object, ...]
    kwargs: dict[str, object]

    def tensors(self) -> "list[Tensor]":
        """Return all tensors in order, including those in lists and dictionaries."""
        return list(tensors_in([*self.args, *self.kwargs.values()]))

    def sizes(self) -> frozenset[int]:
        """Return the possible batch sizes: the sizes of each tensor's first two axes, and 1."""
        return frozenset({1, *(int(size) for each in self.tensors() for size in each.shape[:2])})


def given(network: "nn.Module", inputs: object) -> Inputs:
    """Build the call for tensors, which are moved to the network's device. Raises UserError for other inputs."""
    import torch

    kwargs: dict[str, object] = dict(inputs) if isinstance(inputs, Mapping) else {}
    args: tuple[object, ...] = () if kwargs else inputs if isinstance(inputs, tuple) else (inputs,)
    tensors = Inputs(args, kwargs).tensors()
    if not tensors:
        raise UserError(f"There is no tensor in these inputs ({type(inputs).__name__}); {WANTED}.")
    if any(each.is_nested for each in tensors):
        raise UserError("look does not read nested tensors; give a padded tensor (torch.nested.to_padded_tensor) with "
                        "a mask instead.")
    place = next((each.device for each in network.parameters()), None)
    seen: set[int] = set()

    def move(each: "Tensor") -> "Tensor":
        """Move a tensor to the network's device. One that is passed twice becomes a new view, so that the two are
        distinct."""
        again = id(each) in seen
        seen.add(id(each))
        moved = each if place is None else each.to(place)
        return moved.view_as(moved) if again and each.layout is torch.strided else moved

    try:
        return Inputs(*mapped((args, kwargs), move))
    except TypeError:   # a class of tuples or lists cannot be built from its parts: pass all on unmoved
        return Inputs(args, kwargs)
