"""How a pass of a model ends half-way, when nobody waits for its answer any more: each of its layers looks first.

A look is held in a context variable, so that whoever runs a model by itself, in a notebook or a benchmark, is not
stopped by another thread's question.
"""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


class Cancelled(BaseException):
    """Nobody waits for this answer any more. It is no Exception, so that nobody takes it for a fault of the model."""


_look: ContextVar[Callable[[], None]] = ContextVar("clearhead_look", default=lambda: None)


@contextmanager
def stoppable(look: Callable[[], None]) -> Iterator[None]:
    """Until the block ends, `look` is called before every layer that this thread runs; it raises Cancelled to end the
    pass."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def stop_between_layers(network: "nn.Module") -> None:
    """Makes every layer of the network look before it runs. Called once, when the model is opened."""
    from torch import nn

    for stack in network.modules():
        if isinstance(stack, nn.ModuleList):
            for layer in stack:
                layer.register_forward_pre_hook(_look_first)


def _look_first(_layer: "nn.Module", _inputs: tuple) -> None:
    _look.get()()
