"""Record what the modules of a network read and make during a pass."""
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.model.core.query import frozen_array, with_arrays
from clearhead.model.core.torch_runs import for_this_thread

if TYPE_CHECKING:
    from torch import Tensor, nn


class TooMuch(BaseException):
    """The activations of a pass exceed a limit. A BaseException, so that no model's `except Exception` swallows it."""


class Enough(BaseException):
    """Raised to end a pass once what is wanted has been read. A BaseException, like TooMuch."""


class Unfollowed(Exception):
    """A module does something unknown. The message is a clause that can follow "because"."""


@with_arrays
class ModuleCall:
    """The last call of a module in a pass."""

    name: str            # the module's name in the network
    module: "nn.Module"  # a module of torch or transformers
    order: int           # position among all calls of the pass
    input: np.ndarray    # (token, d)
    output: np.ndarray   # (token, d)

    @property
    def matrix(self) -> np.ndarray:
        """The weights as (input, output), with output = input · matrix + bias."""
        return self.affine[0]

    @property
    def bias(self) -> np.ndarray | None:
        """The vector (output) added after the matrix product, or None."""
        return self.affine[1]

    @cached_property
    def affine(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Matrix and bias."""
        return affine_of(self.module)


def affine_of(module: "nn.Module") -> tuple[np.ndarray, np.ndarray | None]:
    """Return what a module multiplies with, (input, output), and adds, (output) or None; measured if the matrix has
    adapters."""
    import torch

    if _is_adapted(module):
        weight = module.base_layer.weight
        width = weight.shape[0 if type(module.base_layer).__name__ == "Conv1D" else 1]
        with torch.no_grad():
            made = numbers(module.forward(torch.cat((torch.zeros(1, width), torch.eye(width))).to(weight.dtype)))
        return made[1:] - made[0], made[0]
    weight = numbers(module.weight)
    # GPT-2 stores (input, output), torch (output, input)
    return (weight if type(module).__name__ == "Conv1D" else weight.T), numbers(getattr(module, "bias", None))


def block_name(module: str) -> str:
    """Return the block's name, which ends with its number: encoder.layer.0 for encoder.layer.0.attention.self."""
    parts = module.split(".")
    numbers = [index for index, part in enumerate(parts) if part.isdigit()]
    if not numbers:
        raise Unfollowed("its layers have no numbers")
    return ".".join(parts[:numbers[0] + 1])


@contextmanager
def watch_calls(network: "nn.Module", blocks: Collection[str] = (),
                rows: Mapping[int, np.ndarray] | None = None,
                largest: float = float("inf")) -> Iterator[dict[str, ModuleCall]]:
    """Yield a dictionary that passes in this thread fill with the last call of every norm, of every module with its own
    weights except the output embeddings and, if blocks are named, of every module that contains others in them.

    rows: the tokens to keep of a side with this number of tokens; by default all. Passes raise TooMuch once the calls
    take more than `largest` bytes.
    """
    import torch

    calls: dict[str, ModuleCall] = {}
    order, last = itertools.count(), network.get_output_embeddings()
    known: dict[tuple, np.ndarray] = {}
    rows, size = rows or {}, 0

    def kept(tensor: "Tensor") -> np.ndarray:
        """Return a copy (token, d), because some models add to a tensor in place; one copy while its numbers last."""
        nonlocal size
        array, place = numbers(tensor), (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        axis = next((axis for axis, length in enumerate(array.shape[:-1]) if length in rows), None)
        array = array if axis is None else array.take(rows[array.shape[axis]], axis)
        array = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array
        if place not in known or not np.array_equal(known[place], array):
            known[place] = frozen_array(array.copy())
            size += array.nbytes
        return known[place]

    def hook(name: str) -> Callable[..., None]:
        def watch(module: "nn.Module", arguments: tuple, keywords: dict[str, object], output: object) -> None:
            read = arguments[0] if arguments else keywords.get("hidden_states")
            made = _first(output)
            if not isinstance(read, torch.Tensor) and list(module.children()) and name not in blocks:
                read = made   # of a container, only the output is needed
            if isinstance(read, torch.Tensor) and isinstance(made, torch.Tensor):
                calls[name] = ModuleCall(name, module, next(order), kept(read), kept(made))
            if size > largest:
                raise TooMuch
        return for_this_thread(watch)

    def is_watched(name: str, module: "nn.Module") -> bool:
        around = bool(list(module.children())) and any(f"{name}.".startswith(f"{block}.") for block in blocks)
        return module is not last and (around or is_leaf(module))

    adapted = tuple(f"{name}." for name, module in network.named_modules() if _is_adapted(module))
    with ExitStack() as hooks:
        for name, module in network.named_modules():
            if is_watched(name, module) and not name.startswith(adapted):
                hooks.enter_context(module.register_forward_hook(hook(name), with_kwargs=True))
        yield calls


def _first(output: object) -> object:
    return output[0] if isinstance(output, tuple) else output


def numbers(tensor: "Tensor | None") -> Any:
    """Return a tensor as float32, without a copy if possible; None for None."""
    return None if tensor is None else tensor.detach().float().cpu().numpy()


def is_leaf(module: "nn.Module") -> bool:
    """Return whether a module has weights of its own and no parts, is a matrix with adapters, or is a norm, which may
    have no weights."""
    alone = not list(module.children()) or _is_adapted(module)
    return alone and (getattr(module, "weight", None) is not None or _is_norm_class(module))


def _is_adapted(module: "nn.Module") -> bool:
    """Return whether a module is a matrix with an adapter of peft around it."""
    return type(getattr(module, "base_layer", None)).__name__ in ("Linear", "Conv1D")


def _is_norm_class(module: "nn.Module") -> bool:
    return "norm" in type(module).__name__.lower()


def is_norm(call: ModuleCall) -> bool:
    """Return whether a call normalises, by the name of its class."""
    return _is_norm_class(call.module)


def is_linear(call: ModuleCall) -> bool:
    """Return whether a call multiplies by one matrix."""
    weight, sizes = getattr(call.module, "weight", None), (call.input.shape[-1], call.output.shape[-1])
    return getattr(weight, "ndim", 0) == 2 and call.matrix.shape == sizes   # of quantised modules it is a method
