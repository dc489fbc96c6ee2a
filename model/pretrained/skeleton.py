"""A network without its numbers: what a configuration would build, before memory is taken for it."""
from collections.abc import Callable
from typing import Any

from model.capture.transformers_internals import no_weights, tied_names
from model.core import memory
from model.core.query import UserError

PACKED = 8           # parameters that one number of a packed checkpoint stands for, at most
SPARE = 100_000_000  # bytes that a model may make itself beside its weights: masks, tables of positions


def refuse_what_weights_do_not_hold(make: Callable[[], Any], held: int, title: str) -> None:
    """Raises UserError where the network that `make` builds needs more memory than is free, or many more numbers than
    the `held` parameters of its weights."""
    import torch

    with torch.device("meta"), no_weights():
        network = make()
    tied = tied_names(network)
    parameters = sum(parameter.numel() for name, parameter in network.named_parameters() if name not in tied)
    needed = memory.FLOAT * parameters + sum(buffer.nbytes for buffer in network.buffers())
    memory.refuse_weights(needed // memory.FLOAT, title)
    if needed > memory.FLOAT * PACKED * held + SPARE:
        raise UserError(f"The configuration of {title} describes {needed // memory.FLOAT:,} numbers and its weights "
                        f"hold {held:,}; copy or download the model again.")
