"""Recording stays out of the model: a `Probe` names a tensor worth seeing, `capture` reads it from outside.

The idea is TransformerLens' HookPoint. A model with probes computes exactly what it would compute without them.
"""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


class Probe(nn.Identity):
    """An identity that names the tensor running through it: its path in the model is the tensor's name."""


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """A dict that fills with {path of the probe: tensor, detached} while the model runs; the last pass wins. The hooks
    go when the block ends."""
    seen: dict[str, Tensor] = {}

    def reader(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def read(_probe: nn.Module, _inputs: Any, output: Tensor) -> None:
            seen[name] = output.detach()
        return read

    hooks = [module.register_forward_hook(reader(name)) for name, module in model.named_modules()
             if isinstance(module, Probe)]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
