"""torch's random numbers, drawn from a seed whatever other threads do."""
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# torch has one generator for all threads, from which weights and dropout are drawn: two sessions that draw at once
# would each get a share of the other's numbers
_drawing = threading.RLock()


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """Within it torch draws from this seed, for one thread at a time; after it, as if nothing had been drawn."""
    import torch

    with _drawing, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
