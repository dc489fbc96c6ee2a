"""How much memory and time an answer takes, estimated before anything is computed."""
import functools
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

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
