"""Control torch's passes and trainings: stop a pass between layers, limit its threads, bind hooks to a thread, and seed
the random generator."""
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from torch import nn

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Cancelled(BaseException):
    """Raised when no session is waiting for the answer. A BaseException, so that `except Exception` does not swallow
    it."""


_look: ContextVar[Callable[[], None]] = ContextVar("clearhead_look", default=lambda: None)


@contextmanager
def stoppable(look: Callable[[], None]) -> Iterator[None]:
    """Call `look` before every layer that this thread runs within the block; it raises Cancelled to end the pass."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def stop_between_layers(network: "nn.Module") -> None:
    """Hook every layer of the network so that `stoppable` works. Call once, when the model is opened."""
    from torch import nn

    for stack in network.modules():
        if isinstance(stack, nn.ModuleList):
            for layer in stack:
                layer.register_forward_pre_hook(_look_first)


def _look_first(_layer: "nn.Module", _inputs: tuple) -> None:
    _look.get()()


SINGLE_THREAD_OPERATIONS = 1.5e9   # operations: about thirty tokens of MiniLM

# the enclosing block's limit, which also binds inner blocks
_most: ContextVar[int] = ContextVar("clearhead_threads", default=2**15)
# torch has one random generator for all threads, used for weights and dropout: without a lock, two sessions that draw
# at once would share one sequence
_drawing = threading.RLock()


def one_thread() -> AbstractContextManager[None]:
    """Limit torch to one thread, so that it sums in the same order every time; the previous setting is restored."""
    return _threads(1)


def limited_threads(operations: float) -> AbstractContextManager[None]:
    """Limit passes of fewer than SINGLE_THREAD_OPERATIONS to one thread: several threads would wait for each other at
    every layer and delay other work, such as a browser drawing. Larger passes get all threads of the enclosing block,
    even if this thread inherited a lower limit from torch."""
    return _threads(1 if operations < SINGLE_THREAD_OPERATIONS else _usual())


@functools.cache
def _usual() -> int:
    """Return torch's own thread count in this process, read before it is first changed here."""
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


def for_this_thread(hook: Callable[Arguments, Result]) -> Callable[Arguments, Result | None]:
    """Wrap a module's hook so that it only runs in passes of this thread; other threads may run the same module at the
    same time."""
    owner = threading.get_ident()

    @functools.wraps(hook)
    def owned(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result | None:
        return hook(*arguments, **options) if threading.get_ident() == owner else None
    return owned


@contextmanager
def seeded(seed: int = 0, devices: Iterable[object] = ()) -> Iterator[None]:
    """Seed torch's generator within the block, one thread at a time, and restore its state afterwards. `devices` lists
    the GPUs that are used too."""
    import torch

    with _drawing, torch.random.fork_rng(list(devices)):
        torch.manual_seed(seed)
        yield
