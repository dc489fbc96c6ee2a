"""How many threads torch may use."""
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

SINGLE_THREAD_OPERATIONS = 1.5e9   # operations: some thirty tokens of MiniLM


@contextmanager
def one_thread() -> Iterator[None]:
    """Lets torch use one thread, so that it adds in the same order every time; the earlier setting comes back."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def limited_threads(operations: float) -> AbstractContextManager[None]:
    """One thread for a pass of fewer than SINGLE_THREAD_OPERATIONS: several would wait for each other at every layer,
    and all of them for whatever else the machine does, such as a browser that draws the answer before."""
    return one_thread() if operations < SINGLE_THREAD_OPERATIONS else nullcontext()
