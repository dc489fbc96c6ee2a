"""Set torch's threads, draw seeded random numbers, and stop a pass that nobody waits for."""
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

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


SINGLE_THREAD_OPERATIONS = 1.5e9   # operations: some thirty tokens of MiniLM

# of the block around, which one inside does not exceed
_most: ContextVar[int] = ContextVar("clearhead_threads", default=2**15)
# torch has one generator for all threads, from which weights and dropout are drawn: two sessions that draw at once
# would each get a share of the other's numbers
_drawing = threading.RLock()


def one_thread() -> AbstractContextManager[None]:
    """Lets torch use one thread, so that it adds in the same order every time; the earlier setting comes back."""
    return _threads(1)


def limited_threads(operations: float) -> AbstractContextManager[None]:
    """One thread for a pass of fewer than SINGLE_THREAD_OPERATIONS: several would wait for each other at every layer,
    and all of them for whatever else the machine does, such as a browser that draws the answer before. Larger ones get
    all that this block may have, also in a thread that began while another had one, which torch hands down."""
    return _threads(1 if operations < SINGLE_THREAD_OPERATIONS else _usual())


@functools.cache
def _usual() -> int:
    """What torch may use in this process by its own setting, read before it is changed here for the first time."""
    import torch

    return torch.get_num_threads()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    _usual()
    before, token = torch.get_num_threads(), _most.set(min(count, _most.get()))
    torch.set_num_threads(_most.get())
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _most.reset(token)


def for_this_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A module's hook that is called only in passes of this thread. Others may run the same module at the same
    time."""
    owner = threading.get_ident()

    @functools.wraps(hook)
    def owned(*arguments: Any) -> Any:
        return hook(*arguments) if threading.get_ident() == owner else None
    return owned


@contextmanager
def seeded(seed: int = 0, devices: Iterable[Any] = ()) -> Iterator[None]:
    """Within it torch draws from this seed, for one thread at a time; after it, as if nothing had been drawn. devices:
    graphics cards on which it draws, too."""
    import torch

    with _drawing, torch.random.fork_rng(list(devices)):
        torch.manual_seed(seed)
        yield
