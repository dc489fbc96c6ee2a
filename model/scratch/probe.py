"""Recording and editing stay out of the model: a `Probe` names a value worth seeing, and what happens to it there is
decided from outside.

The idea is TransformerLens' HookPoint. A model with probes computes exactly what it would compute without them. What is
done at its probes is held in a context variable, so that passes of several threads never mix and nothing stays behind
in the model.
"""
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import Any

from torch import Tensor, nn

Action = Callable[[Any], Any]   # given what runs through a probe, gives what goes on

_actions: ContextVar[Mapping[nn.Module, tuple[Action, ...]]] = ContextVar("clearhead_probes",
                                                                          default=MappingProxyType({}))


class Probe(nn.Module):
    """An identity that names the value running through it: its path in the model is the value's name."""

    def forward(self, value: Any) -> Any:
        """The value as this thread's actions leave it."""
        for act in _actions.get().get(self, ()):
            value = act(value)
        return value


@contextmanager
def acting(actions: Iterable[tuple[nn.Module, Action]]) -> Iterator[None]:
    """Until the block ends, this thread's passes hand what runs through each probe to its actions, in this order and
    behind those of the blocks around."""
    joined = dict(_actions.get())
    for probe, action in actions:
        joined[probe] = (*joined.get(probe, ()), action)
    token = _actions.set(joined)
    try:
        yield
    finally:
        _actions.reset(token)


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """A dict that fills with {path of the probe: tensor, detached} while the model runs in this thread; the last pass
    wins."""
    seen: dict[str, Tensor] = {}

    def read(name: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            seen[name] = value.detach()
        return value

    with acting((module, partial(read, name)) for name, module in model.named_modules() if isinstance(module, Probe)):
        yield seen
