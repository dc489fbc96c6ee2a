"""Estimate the memory and time of an answer, and keep this process's own memory small."""
import ctypes
import functools
import gc
import mmap
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from cachetools import LRUCache

from model.core.limits import LIMITS
from model.core.query import UserError

FLOAT = 4  # bytes
SMALL_BYTES, SMALL_OPERATIONS = 1e8, 1e11  # below both no machine needs asking
SLOWEST = 5e9  # operations a second that any machine with torch does; measured less, it is only busy
CONTAINER = Path("/sys/fs/cgroup")   # where Linux says what a container may take


@dataclass(frozen=True)
class Shape:
    """The sizes of one attention layer."""

    heads: int               # query heads
    kv_heads: int            # key and value heads
    d_k: int                 # numbers in a query or key
    d_v: int                 # numbers in a value
    quadratic: float = 0.0   # numbers for each (head, query, key) held at once; 0 with the fused kernel


@dataclass(frozen=True)
class Plan:
    """What the size of an answer depends on."""

    parameters: int             # of the model
    width: int                  # numbers for each token in the widest set that a layer holds
    vocabulary: int             # numbers for each token that the answer's head puts out at once, 0 if few
    shapes: tuple[Shape, ...]   # one for each attention layer
    keeps_weights: bool         # whether every matrix is kept, as of reported models

    def bytes_for(self, n: int) -> float:
        """Peak memory above the model, in bytes, for n tokens."""
        linear = sum(n * (shape.heads * shape.d_k + shape.kv_heads * (shape.d_k + shape.d_v)) for shape in self.shapes)
        square = sum(shape.heads * n * n for shape in self.shapes) if self.keeps_weights else 0
        working = max((shape.heads * shape.quadratic * n * n for shape in self.shapes), default=0)
        return FLOAT * (linear + square + working + n * (self.width + self.vocabulary))

    def operations_for(self, n: int) -> float:
        """Multiplications and additions of one forward pass over n tokens."""
        return 2 * self.parameters * n + sum(2 * n * n * shape.heads * (shape.d_k + shape.d_v) for shape in self.shapes)


def refuse_what_does_not_fit(plan: Plan, n: int, title: str) -> None:
    """Raises UserError, with the numbers and the nearest length that fits, if n tokens need too much memory or time."""
    if plan.bytes_for(n) < SMALL_BYTES and plan.operations_for(n) < SMALL_OPERATIONS:
        return
    room, speed = memory_free(), operations_per_second()

    def fits(length: int) -> bool:
        return plan.bytes_for(length) <= room and plan.operations_for(length) <= speed * LIMITS.longest_wait

    if fits(n):
        return
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    raise UserError(f"{n:,} tokens would take about {plan.bytes_for(n) / 1e9:,.1f} GB and "
                    f"{plan.operations_for(n) / speed:,.0f} s with {title}, and {room / 1e9:,.1f} GB are free "
                    f"(limit {LIMITS.longest_wait:,.0f} s); shorten the text to {low:,} tokens.")


def refuse_weights(parameters: int, title: str) -> None:
    """Raises UserError if a model's weights do not fit into memory as float32."""
    needed, room = FLOAT * parameters * 1.15, memory_free()
    if needed > room:
        raise UserError(f"{title} has {parameters / 1e9:,.2f} thousand million parameters, which take "
                        f"{needed / 1e9:,.1f} GB in float32, and {room / 1e9:,.1f} GB of memory are free; choose a "
                        f"smaller model.")


def memory_free() -> float:
    """Bytes that may still be taken: what the system calls available, or what the container's limit leaves."""
    free = float(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):   # no container, or none with a limit
        limit, used = (float((CONTAINER / name).read_text(encoding="ascii"))
                       for name in ("memory.max", "memory.current"))
        return min(free, limit - used)
    return free


@functools.cache
def operations_per_second() -> float:
    """Operations a second of a matrix product on this machine, measured once in a few milliseconds."""
    import torch

    left, right = torch.ones(256, 768), torch.ones(768, 768)
    shortest = float("inf")
    for _ in range(8):  # the fastest of several: another process may hold the cores for a moment
        start = time.perf_counter()
        left @ right
        shortest = min(shortest, time.perf_counter() - start)
    return max(2 * 256 * 768 * 768 / max(shortest, 1e-6), SLOWEST)


ARENAS, HEAPS = -8, 2   # M_ARENA_MAX of glibc's malloc.h, and how many
# Linux: pages that are there from the start cost two thirds of those that come one by one
AT_ONCE = ("MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_POPULATE")


def on_own_pages(array: np.ndarray) -> np.ndarray:
    """A float32 copy of the array in pages of its own.

    What is kept of each layer would otherwise lie between the numbers that the layer throws away, so that the heap grew
    by those too.
    """
    if sys.platform == "win32":
        pages = mmap.mmap(-1, array.nbytes)
    else:
        pages = mmap.mmap(-1, array.nbytes, flags=sum(getattr(mmap, name, 0) for name in AT_ONCE))
    copy = np.frombuffer(pages, np.float32).reshape(array.shape)
    copy[...] = array
    return copy


def share_heaps() -> None:
    """Called once, before a server's threads begin: they share two of the C library's heaps, where it is glibc, which
    would make eight for each core. Every run of a visitor's page is a thread of its own, and what one of them frees in
    one heap is not there for the next one in another. Thirty visitors for three minutes on two cores: 598 MB at most
    and mostly 530, without it 713 and 620, of which 300 are in use."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(ARENAS, HEAPS)


def release_free_pages() -> None:
    """Hands the heap's free pages back to the system, where the C library can (glibc's malloc_trim): what each layer
    throws away leaves holes that the next layer's numbers do not fit."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def leave_out_imports() -> None:
    """Called once, when a server's packages are there: Python's search for garbage leaves out the 450,000 objects that
    they made. Going through them stops every thread for a quarter of a second; without them `gc.collect` takes a
    thousandth of a millisecond."""
    gc.freeze()
    gc.collect()   # quick now; Python searches again once a quarter more has come than the last search left


def byte_cache(most: int, size_of: Callable[[Any], int] = lambda value: value.nbytes) -> LRUCache[Any, Any]:
    """At most `most` bytes of values; the least recently used goes first. What is larger by itself stays alone, where
    `LRUCache` would refuse it. Not safe for threads: lock it where they meet."""
    return LRUCache(most, getsizeof=lambda value: min(size_of(value), most))
