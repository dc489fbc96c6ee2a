"""Estimate the memory and time of a pass, measure what this machine has of both, and bound caches in bytes."""
import functools
import re
import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError, frozen

if TYPE_CHECKING:
    from torch import nn

Key = TypeVar("Key")
Held = TypeVar("Held")
FLOAT = 4  # bytes
SMALL_BYTES, SMALL_OPERATIONS = 1e8, 1e11  # below both, no check is needed
SLOWEST = 5e9  # operations per second that any machine with torch reaches; a lower measurement means that it is busy
CONTAINER = Path("/sys/fs/cgroup")   # where Linux states a container's limits


@frozen
class Shape:
    """The sizes of one attention layer."""

    heads: int               # query heads
    kv_heads: int            # key and value heads
    d_k: int                 # dimensions of a query or key
    d_v: int                 # dimensions of a value
    quadratic: float = 0.0   # numbers per (head, query, key) held at once; 0 with the fused kernel


@frozen
class Plan:
    """The sizes that determine an answer's memory and time."""

    parameters: int             # number of parameters
    width: int                  # most numbers per token that a layer holds at once
    vocabulary: int             # numbers per token that the output head computes at once, 0 if few
    shapes: tuple[Shape, ...]   # one per attention layer
    keeps_weights: bool         # whether every matrix is kept, as for reported models

    def bytes_for(self, n: int) -> float:
        """Estimate peak memory on top of the model, in bytes, for n tokens."""
        linear = sum(n * (shape.heads * shape.d_k + shape.kv_heads * (shape.d_k + shape.d_v)) for shape in self.shapes)
        square = sum(shape.heads * n * n for shape in self.shapes) if self.keeps_weights else 0
        working = max((shape.heads * shape.quadratic * n * n for shape in self.shapes), default=0)
        return FLOAT * (linear + square + working + n * (self.width + self.vocabulary))

    def operations_for(self, n: int) -> float:
        """Count multiplications and additions of one forward pass over n tokens."""
        return 2 * self.parameters * n + sum(2 * n * n * shape.heads * (shape.d_k + shape.d_v) for shape in self.shapes)


def refuse_what_does_not_fit(plan: Plan, n: int, title: str) -> None:
    """Raise UserError if n tokens need too much memory or time. The message states both and the longest length that
    fits."""
    if plan.bytes_for(n) < SMALL_BYTES and plan.operations_for(n) < SMALL_OPERATIONS:
        return
    room, speed = memory_free(), operations_per_second()

    def fits(length: int) -> bool:
        return plan.bytes_for(length) <= room and plan.operations_for(length) <= speed * LIMITS.longest_wait

    if fits(n):
        return
    longest = bisect_left(range(1, n), True, key=lambda length: not fits(length))   # that fits
    advice = f"shorten the text to {longest:,} tokens" if longest else "choose a smaller model"
    raise UserError(f"{n:,} tokens would take about {plan.bytes_for(n) / 1e9:,.1f} GB and "
                    f"{plan.operations_for(n) / speed:,.0f} s with {title}, but {room / 1e9:,.1f} GB are free "
                    f"(limit {LIMITS.longest_wait:,.0f} s); {advice}.")


def count_parameters(network: "nn.Module") -> int:
    """Return the number of a network's parameters."""
    return sum(each.numel() for each in network.parameters())


def refuse_weights(parameters: int, title: str, dtype: str = "float32") -> None:
    """Raise UserError if a model's weights do not fit into memory in this type."""
    needed, room = {"float64": 8, "float32": FLOAT}.get(dtype, 2) * parameters * 1.15, memory_free()
    if needed > room:
        raise UserError(f"{title} has {parameters / 1e9:,.2f} billion parameters, which take "
                        f"{needed / 1e9:,.1f} GB in {dtype}, but {room / 1e9:,.1f} GB of memory are free; choose a "
                        f"smaller model.")


def memory_free() -> float:
    """Return the bytes of memory available from the system, or left within the container's limit; infinity if neither
    Linux nor psutil, which comes with extras, states them."""
    free = float("inf")
    if sys.platform == "linux":
        found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
        free = 1024.0 * int(found[1]) if found else free
    else:
        with suppress(ImportError):
            import psutil

            free = float(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):   # no container, or one without a limit
        limit, used = (float((CONTAINER / name).read_text(encoding="ascii"))
                       for name in ("memory.max", "memory.current"))
        return min(free, limit - used)
    return free


@functools.cache
def operations_per_second() -> float:
    """Measure this machine's operations per second in a matrix product, once, within a few milliseconds."""
    import torch

    left, right = torch.ones(256, 768), torch.ones(768, 768)
    shortest = float("inf")
    for _ in range(8):  # keep the fastest run: another process may be using the cores
        start = time.perf_counter()
        left @ right
        shortest = min(shortest, time.perf_counter() - start)
    return max(2 * 256 * 768 * 768 / max(shortest, 1e-6), SLOWEST)


def bytes_of(answer: object) -> int:
    """Estimate the bytes of an answer: its own `nbytes` if it has one, else 100 plus its characters or its parts."""
    own: int | None = getattr(answer, "nbytes", None)
    if own is not None:
        return own
    parts: Iterable[object] = vars(answer).values() if is_dataclass(answer) else ()
    if isinstance(answer, dict | list | tuple):
        parts = answer.values() if isinstance(answer, dict) else answer
    return 100 + (len(answer) if isinstance(answer, str | bytes) else sum(map(bytes_of, parts)))


class ByteCache(MutableMapping[Key, Held]):
    """A cache of at most `most` bytes, counting `more` extra bytes per value, which evicts the least recently used
    first. An oversized value is kept and evicts everything else. Not thread-safe: callers must hold a lock."""

    def __init__(self, most: int, more: int = 0) -> None:
        self._most, self._more, self.bytes = most, more, 0
        self._held: dict[Key, tuple[Held, int]] = {}   # with its bytes; the last is the most recently used

    def __getitem__(self, key: Key) -> Held:
        held = self._held[key] = self._held.pop(key)
        return held[0]

    def __setitem__(self, key: Key, value: Held) -> None:
        self.pop(key, None)
        size = min(bytes_of(value) + self._more, self._most)
        while self.bytes + size > self._most:
            del self[next(iter(self))]
        self._held[key] = value, size
        self.bytes += size

    def __delitem__(self, key: Key) -> None:
        self.bytes -= self._held.pop(key)[1]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)
