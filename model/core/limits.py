"""What a machine may spend: bounds on what comes from outside, memory, torch's threads, and stopping a pass."""
import ctypes
import functools
import gc
import json
import math
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from cachetools import LRUCache

from model.core.query import UserError

if TYPE_CHECKING:
    from torch import nn

MB = 2**20


@dataclass(frozen=True)
class Limits:
    """The bounds in force."""

    # a file that somebody opens
    file_bytes: int = 200 * MB               # as it is packed
    session_bytes: int = 512 * MB
    total_bytes: int = 512 * MB
    import_bytes: int = 256 * MB
    record_cells: int = 1_000_000_000        # weights of one saved record, computed when they are drawn
    arrays: int = 5_000
    heads: int = 20_000
    layers: int = 512
    tensors: int = 500_000
    header_bytes: int = 25 * MB              # of one file of tensors
    tokens: int = 4_096
    json_bytes: int = 64 * MB
    json_values: int = 5_000_000             # as its signs let it have at most
    depth: int = 64                          # lists and objects within one another
    case_rows: int = 20_000                  # one file of cases
    corpus_text: int = 20_000                # characters of one text of a file of texts
    corpus_line: int = 1_000_000             # bytes
    atlas_bytes: int = 512 * MB              # one Parquet file of an atlas
    sentence_words: int = 1_000              # of a treebank
    treebank_words: int = 400_000
    choices_bytes: int = 512 * MB            # what the heads look at in one treebank, 2 bytes a head and word
    # a picture that somebody opens
    picture_bytes: int = 48 * MB             # as it is packed
    picture_pixels: int = 64_000_000         # as its file states them
    picture_length: int = 65_535             # pixels of a side
    picture_growth: int = 200                # pixels a byte of one that is larger than what is held of it
    picture_work_bytes: int = 200 * MB       # while it is decoded, by an estimate
    picture_scans: int = 100                 # of a JPEG
    picture_kept: int = 4_194_304            # pixels as it is held; a larger one is shrunk
    picture_session_bytes: int = 64 * MB
    picture_total_bytes: int = 256 * MB
    # a handout
    handout_bytes: int = 24 * MB
    handouts_bytes: int = 256 * MB
    handout_items: int = 100
    handout_title: int = 200
    handout_caption: int = 2_000
    handout_about: int = 1_000               # characters of what a figure says of where it comes from
    handout_source: int = 100_000            # characters of a figure's provenance
    handout_text: int = 4_000                # characters of any other text in a figure
    handout_parts: int = 64                  # boxes, handles, or cells a side of a figure
    chart_bytes: int = 8 * MB
    table_bytes: int = 2 * MB
    table_rows: int = 2_000
    table_columns: int = 40
    # what somebody types, and a link
    longest_text: int = 1_000_000
    link_text: int = 1_500                   # bytes of a text that a link holds as it is; a longer one is packed
    link_unpacked: int = 200_000             # bytes
    link_length: int = 8_000                 # characters
    # what an answer may take of this machine
    longest_wait: float = 600.0
    measure_bytes: int = 1024 * MB
    cache_bytes: int = 1024 * MB
    kept_bytes: int = 256 * MB               # records on disk; model/ask/kept.py
    models_bytes: int = 6144 * MB
    trainings: int = 2

    def refuse_above(self, name: str, amount: float, whose: str, way_out: str) -> None:
        """Raise UserError if `amount` is above the limit of this name. `whose`: the file or thing that has so much;
        `way_out`: what can be done about it, beside another setting where there is one."""
        most = getattr(self, name)
        if amount > most:
            more = f", or set {setting_of(name)} higher" if name in SETTINGS else ""
            has, limit = _written(amount, name), _written(most, name)
            same = f" {_unit(name)}" if has.endswith(_unit(name)) else ""   # the unit stands there once
            raise UserError(f"{whose} has {has} and the limit is {limit.removesuffix(same)}; {way_out}{more}.")


# what an operator may turn, and what it bounds
SETTINGS = {
    "file_bytes": "one uploaded file, as it is packed",
    "session_bytes": "the imported files of one session",
    "total_bytes": "the imported files of all sessions",
    "import_bytes": "the weights in one imported file, 4 bytes a cell",
    "tokens": "tokens a side of imported attention or of a handout's figure",
    "picture_session_bytes": "the pictures of one session",
    "picture_total_bytes": "the pictures of all sessions",
    "handout_bytes": "the figures of one handout",
    "handouts_bytes": "the handouts of all visitors",
    "longest_text": "characters of a text that a model is asked about",
    "longest_wait": "seconds that an answer may take, by its estimate",
    "measure_bytes": "one measurement on the page What it costs",
    "cache_bytes": "the answers that are kept",
    "models_bytes": "the models that are kept open",
    "trainings": "trainings at once on one server"}
# the unit of limits whose name does not end in it
UNITS = {"corpus_line": "bytes", "link_text": "bytes", "link_unpacked": "bytes",
         "depth": "levels", "picture_growth": "pixels a byte",
         "picture_length": "pixels", "picture_kept": "pixels", "handout_items": "figures", "record_cells": "weights",
         "longest_wait": "seconds", **dict.fromkeys(("corpus_text", "handout_title", "handout_caption", "handout_about",
                                                     "handout_source", "handout_text", "longest_text", "link_length"),
                                                    "characters")}


def setting_of(name: str) -> str:
    """Return the variable of the environment that sets the limit of this name."""
    return f"CLEARHEAD_{name.upper().removesuffix('_BYTES')}{'_MB' if name.endswith('_bytes') else ''}"


def _unit(name: str) -> str:
    return UNITS.get(name, name.rpartition("_")[2])


def _written(amount: float, name: str) -> str:
    unit, amount = _unit(name), min(amount, 2**60)   # a file may say any number
    if unit == "bytes" and amount >= MB:
        amount, unit = math.ceil(100 * amount / MB) / 100, "MB"
    return f"{amount:,.2f}".rstrip("0").rstrip(".") + f" {unit}"


def from_environment(environment: Mapping[str, str]) -> Limits:
    """Return the defaults, and what the environment sets otherwise. Raises UserError for a setting that is no
    number."""
    values: dict[str, Any] = {}
    for name in SETTINGS:
        if text := environment.get(setting_of(name), "").strip():
            default, scale = getattr(Limits(), name), MB if name.endswith("_bytes") else 1
            try:
                values[name] = type(default)(float(text) * scale)
            except (ValueError, OverflowError):   # NaN and infinity among them
                values[name] = -1
            if values[name] < (name != "trainings"):
                raise UserError(f"{setting_of(name)} is {text[:60]!r} and must be a number above 0; change it or leave "
                                f"it out.")
    return Limits(**values)


LIMITS = from_environment(os.environ)


def as_rows(limits: Limits) -> list[dict[str, object]]:
    """Return a row for each setting: its name, value and default, and what it bounds; values in the setting's unit."""
    return [{"setting": setting_of(name), "of": of,
             **{key: getattr(each, name) / (MB if name.endswith("_bytes") else 1)
                for key, each in (("value", limits), ("default", Limits()))}} for name, of in SETTINGS.items()]


def parse_json(content: bytes, whose: str) -> Any:
    """Return what `json.loads` makes of it. Raises UserError, beginning with `whose`, above the limits of bytes, of
    values and of depth, and ValueError for what is no JSON."""
    smaller = "choose a smaller one"
    LIMITS.refuse_above("json_bytes", len(content), whose, smaller)
    LIMITS.refuse_above("json_values", sum(map(content.count, (b"[", b"{", b","))), whose, smaller)
    try:
        value = json.loads(content)
    except RecursionError:
        value, levels = None, sys.getrecursionlimit()   # at least
    else:
        levels = depth_of(value)
    LIMITS.refuse_above("depth", levels, whose, "choose one that Clearhead or transformers wrote")
    return value


def depth_of(value: object) -> int:
    """Return how many lists and objects stand within one another: 0 for a number, 1 for a list of numbers."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        depth += 1
    return depth


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
    """Raise UserError, with the numbers and the nearest length that fits, if n tokens need too much memory or time."""
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
    """Raise UserError if a model's weights do not fit into memory as float32."""
    needed, room = FLOAT * parameters * 1.15, memory_free()
    if needed > room:
        raise UserError(f"{title} has {parameters / 1e9:,.2f} thousand million parameters, which take "
                        f"{needed / 1e9:,.1f} GB in float32, and {room / 1e9:,.1f} GB of memory are free; choose a "
                        f"smaller model.")


def memory_free() -> float:
    """Return bytes that may still be taken: what the system calls available, or what the container's limit leaves."""
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
    """Return a float32 copy of the array in pages of its own.

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
    """Hand the heap's free pages back to the system, where the C library can (glibc's malloc_trim): what each layer
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


def bytes_of(answer: object) -> int:
    """About the bytes that an answer takes: what it says itself in `nbytes`, else those of its parts and 100 more."""
    own: int | None = getattr(answer, "nbytes", None)
    if own is not None:
        return own
    parts: Iterable[object] = vars(answer).values() if is_dataclass(answer) else ()
    if isinstance(answer, dict | list | tuple):
        parts = answer.values() if isinstance(answer, dict) else answer
    return 100 + sum(map(bytes_of, parts))


def byte_cache(most: int, more: int = 0) -> LRUCache[Any, Any]:
    """At most `most` bytes of values, each with `more`; the least recently used goes first. An oversized value is kept
    and evicts everything else, where `LRUCache` would refuse it. Not safe for threads: lock it where they meet."""
    return LRUCache(most, getsizeof=lambda value: min(bytes_of(value) + more, most))


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
    """Make every layer of the network look before it runs. Called once, when the model is opened."""
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
    """Let torch use one thread, so that it adds in the same order every time; the earlier setting comes back."""
    return _threads(1)


def limited_threads(operations: float) -> AbstractContextManager[None]:
    """Return one thread for a pass of fewer than SINGLE_THREAD_OPERATIONS: several would wait for each other at every
    layer, and all of them for whatever else the machine does, such as a browser that draws the answer before. Larger
    ones get all that this block may have, also in a thread that began while another had one, which torch hands down."""
    return _threads(1 if operations < SINGLE_THREAD_OPERATIONS else _usual())


@functools.cache
def _usual() -> int:
    """Return what torch may use in this process by its own setting, read before it is changed here for the first
    time."""
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
    """Return a module's hook that is called only in passes of this thread. Others may run the same module at the same
    time."""
    owner = threading.get_ident()

    @functools.wraps(hook)
    def owned(*arguments: Any) -> Any:
        return hook(*arguments) if threading.get_ident() == owner else None
    return owned


@contextmanager
def seeded(seed: int = 0, devices: Iterable[object] = ()) -> Iterator[None]:
    """Within it torch draws from this seed, for one thread at a time; after it, as if nothing had been drawn. devices:
    graphics cards on which it draws, too."""
    import torch

    with _drawing, torch.random.fork_rng(list(devices)):
        torch.manual_seed(seed)
        yield
