"""The operator's settings: limits on untrusted input, memory and torch's threads, and the folder for what is kept on
disk; and a way to stop a forward pass."""
import functools
import json
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from clearhead.model.core.query import UserError, frozen

if TYPE_CHECKING:
    from torch import nn

MB = 2**20
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@frozen
class Limits:
    """The limits in force."""

    # an opened file
    file_bytes: int = 200 * MB               # compressed
    session_bytes: int = 512 * MB
    total_bytes: int = 512 * MB
    import_bytes: int = 256 * MB
    record_cells: int = 1_000_000_000        # weights in one saved record, computed on display
    arrays: int = 5_000
    heads: int = 20_000
    layers: int = 512
    tensors: int = 500_000
    header_bytes: int = 25 * MB              # per file of tensors
    tokens: int = 4_096
    json_bytes: int = 64 * MB
    json_values: int = 5_000_000             # estimated from its characters
    case_rows: int = 20_000                  # per file of cases
    corpus_text: int = 20_000                # characters per text in a file of texts
    corpus_line: int = 1_000_000             # bytes
    sentence_words: int = 1_000              # per sentence of a treebank
    treebank_words: int = 400_000
    choices_bytes: int = 512 * MB            # attention choices over one treebank, 2 bytes per head and word
    # an opened picture
    picture_bytes: int = 48 * MB             # compressed
    picture_pixels: int = 64_000_000         # as declared in the file
    picture_length: int = 65_535             # pixels per side
    picture_growth: int = 200                # pixels per byte, for pictures larger than picture_kept
    picture_work_bytes: int = 200 * MB       # estimated, while decoding
    picture_scans: int = 100                 # per JPEG
    picture_kept: int = 4_194_304            # pixels; larger pictures are shrunk
    picture_session_bytes: int = 64 * MB
    picture_total_bytes: int = 256 * MB
    # a handout
    handout_bytes: int = 24 * MB
    handouts_bytes: int = 256 * MB
    handout_items: int = 100
    handout_title: int = 200
    handout_caption: int = 2_000
    handout_about: int = 1_000               # characters of a figure's description of its origin
    handout_source: int = 100_000            # characters of a figure's provenance
    handout_text: int = 4_000                # characters of any other text in a figure
    chart_bytes: int = 8 * MB
    table_bytes: int = 2 * MB
    table_rows: int = 2_000
    table_columns: int = 40
    # typed text, and links
    longest_text: int = 1_000_000
    link_text: int = 1_500                   # bytes of text stored uncompressed in a link; longer text is compressed
    link_unpacked: int = 200_000             # bytes
    link_length: int = 8_000                 # characters
    # resources for answers
    longest_wait: float = 600.0
    measure_bytes: int = 1024 * MB
    cache_bytes: int = 1024 * MB
    kept_bytes: int = 256 * MB               # records on disk; see model/ask/kept.py
    models_bytes: int = 6144 * MB
    trainings: int = 2

    def refuse_above(self, name: str, amount: float, whose: str, way_out: str) -> None:
        """Raise UserError if `amount` exceeds the limit `name`. `whose` names the oversized file or object. `way_out`
        says what to do, besides changing the setting if there is one."""
        most = getattr(self, name)
        if amount > most:
            more = f", or set {setting_of(name)} higher" if name in SETTINGS else ""
            unit = UNITS.get(name, name.rpartition("_")[2])
            scale, unit = (MB, "MB") if unit == "bytes" and most >= MB else (1, unit)
            # a file can declare any number
            has, limit = (f"{math.ceil(100 * min(each, 2**60) / scale) / 100:,.15g}" for each in (amount, most))
            raise UserError(f"{whose} has {has} {unit} and the limit is {limit}; {way_out}{more}.")


# the settings an operator can change, and what each limits
SETTINGS = {
    "file_bytes": "one uploaded file, as it is packed",
    "session_bytes": "the imported files of one session",
    "total_bytes": "the imported files of all sessions",
    "import_bytes": "the weights in one imported file, 4 bytes per cell",
    "tokens": "tokens per side of imported attention or of a handout's figure",
    "picture_session_bytes": "the pictures of one session",
    "picture_total_bytes": "the pictures of all sessions",
    "handout_bytes": "the figures of one handout",
    "handouts_bytes": "the handouts of all visitors",
    "longest_text": "characters of a text that a model reads",
    "longest_wait": "seconds that an answer may take, by its estimate",
    "measure_bytes": "one measurement on the page Cost",
    "cache_bytes": "the answers that are kept",
    "models_bytes": "the models that are kept open",
    "trainings": "trainings at once on one server"}
# units of limits whose names do not end in one
UNITS = {"corpus_line": "bytes", "link_text": "bytes", "link_unpacked": "bytes",
         "picture_growth": "pixels per byte",
         "picture_length": "pixels", "picture_kept": "pixels", "handout_items": "figures", "record_cells": "weights",
         "longest_wait": "seconds", **dict.fromkeys(("corpus_text", "handout_title", "handout_caption", "handout_about",
                                                     "handout_source", "handout_text", "longest_text", "link_length"),
                                                    "characters")}


def setting_of(name: str) -> str:
    """Return the environment variable that sets this limit."""
    return f"CLEARHEAD_{name.upper().removesuffix('_BYTES')}{'_MB' if name.endswith('_bytes') else ''}"


def from_environment(environment: Mapping[str, str]) -> Limits:
    """Return the limits: the defaults, overridden by the environment. Raises UserError for a setting that is not a
    number."""
    values: dict[str, Any] = {}
    for name in SETTINGS:
        if text := environment.get(setting_of(name), "").strip():
            default, scale = getattr(Limits(), name), MB if name.endswith("_bytes") else 1
            try:
                values[name] = type(default)(float(text) * scale)
            except (ValueError, OverflowError):   # includes NaN and infinity
                values[name] = -1
            if values[name] < (name != "trainings"):
                raise UserError(f"{setting_of(name)} is {text[:60]!r} but must be a number above 0; change it or leave "
                                f"it out.")
    return Limits(**values)


LIMITS = from_environment(os.environ)


def as_rows(limits: Limits) -> list[dict[str, object]]:
    """Return one row per setting: its name, what it limits, and its value and default in the setting's unit."""
    return [{"setting": setting_of(name), "of": of,
             **{key: getattr(each, name) / (MB if name.endswith("_bytes") else 1)
                for key, each in (("value", limits), ("default", Limits()))}} for name, of in SETTINGS.items()]


def home() -> Path:
    """Return the folder for downloaded and converted models: CLEARHEAD_HOME, or ~/.cache/clearhead."""
    path = os.environ.get("CLEARHEAD_HOME") or "~/.cache/clearhead"
    try:
        return Path(path).expanduser()
    except RuntimeError as error:   # as in a container without a user
        raise UserError(f"{path} refers to a home folder that does not exist; set CLEARHEAD_HOME to an existing "
                        f"folder.") from error


def keeps() -> bool:
    """Return whether records are cached on disk: True unless CLEARHEAD_RECORDS=0."""
    return os.environ.get("CLEARHEAD_RECORDS") != "0"


def parse_json(content: bytes, whose: str) -> Any:
    """Parse JSON. Raises UserError, beginning with `whose`, above the limits on bytes and values, and ValueError for
    invalid or deeply nested JSON."""
    smaller = "choose a smaller one"
    LIMITS.refuse_above("json_bytes", len(content), whose, smaller)
    LIMITS.refuse_above("json_values", sum(map(content.count, (b"[", b"{", b","))), whose, smaller)
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


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
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    raise UserError(f"{n:,} tokens would take about {plan.bytes_for(n) / 1e9:,.1f} GB and "
                    f"{plan.operations_for(n) / speed:,.0f} s with {title}, but {room / 1e9:,.1f} GB are free "
                    f"(limit {LIMITS.longest_wait:,.0f} s); shorten the text to {low:,} tokens.")


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
    """Estimate the bytes of an answer: its own `nbytes` if it has one, else the sum over its parts plus 100."""
    own: int | None = getattr(answer, "nbytes", None)
    if own is not None:
        return own
    parts: Iterable[object] = vars(answer).values() if is_dataclass(answer) else ()
    if isinstance(answer, dict | list | tuple):
        parts = answer.values() if isinstance(answer, dict) else answer
    return 100 + sum(map(bytes_of, parts))


class ByteCache(MutableMapping[Any, Any]):
    """A cache of at most `most` bytes, counting `more` extra bytes per value, which evicts the least recently used
    first. An oversized value is kept and evicts everything else. Not thread-safe: callers must hold a lock."""

    def __init__(self, most: int, more: int = 0) -> None:
        self._most, self._more, self.bytes = most, more, 0
        self._held: dict[Any, tuple[Any, int]] = {}   # with its bytes; the last is the most recently used

    def __getitem__(self, key: Any) -> Any:
        held = self._held[key] = self._held.pop(key)
        return held[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.pop(key, None)
        size = min(bytes_of(value) + self._more, self._most)
        while self.bytes + size > self._most:
            del self[next(iter(self))]
        self._held[key] = value, size
        self.bytes += size

    def __delitem__(self, key: Any) -> None:
        self.bytes -= self._held.pop(key)[1]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


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
