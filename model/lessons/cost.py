r"""What attention costs: one layer's multiplications counted, its time and its memory measured on this machine.

Shapes: query, key and value float32 (head, n, D_K) with d_model = heads · D_K; the linear layers take float32 (n,
d_model). One text, no mask but the window's. A question is one way of computing at one length, so that a queue may put
other people's questions between any two; it is measured with one thread of torch by that thread's own clock, which
stands still while the machine computes something else (see `clock`). """
import functools
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from model.core.limits import FLOAT, LIMITS
from model.core.models import Models
from model.core.query import Progress, UserError

if TYPE_CHECKING:
    from torch import Tensor


WAYS = ("plain", "fused", "window", "linear")
D_K = 64
START, END = 64, 131_072                 # lengths: each the double of the one before
LENGTHS = tuple(START * 2**power for power in range((END // START).bit_length()))
WINDOW = 64                              # keys on each side of the sliding window
LONGEST = 1.5                            # seconds that one computation may take by what the length before took
# seconds: shorter computations are repeated for so long and the shortest counts
ENOUGH = 0.04
SHARE = 1 / 4                            # of the memory that is free, at most
MOST_WIDTH = 1024
# numbers that torch's fused kernel holds at most for one thread (FlashAttentionKernel.cpp)
BLOCK = 256 * 640
FITTED = 4                               # lengths, the longest ones, that a power is fitted to


@dataclass(frozen=True)
class CostQuery:
    """One way of WAYS at one length. again: asks for another measurement of the same."""

    way: str
    n: int
    d_model: int
    again: int = 0

    def answer(self, models: Models, report: Progress) -> "Cost":
        """Return the measurement. Raises UserError for what is no question or does not fit."""
        return measure(self, report)


@dataclass(frozen=True)
class Cost:
    """Seconds of one computation, and the most bytes that it held at once beyond what it was given."""

    seconds: float
    peak: int


@dataclass(frozen=True)
class CostsQuery:
    """Every way of WAYS at every length that it does not take too long for, in a layer of one width."""

    d_model: int
    model: str = "layer"   # of random numbers
    revision: str = ""

    def answer(self, models: Models, report: Progress) -> dict[str, dict[int, Cost]]:
        """Return {way: {length: its cost}}."""
        found = dict[str, dict[int, Cost]]((way, {}) for way in WAYS)
        for n in LENGTHS:
            for way, known in found.items():
                before = known.get(n // 2)
                if (before or n == START) and stop_reason(way, n, self.d_model, before) is None:
                    known[n] = measure(CostQuery(way, n, self.d_model), report)
        return found


def plain(query: "Tensor", key: "Tensor", value: "Tensor") -> "Tensor":
    """Equation (1) as it is written, (head, n, d_k): the whole matrix of scores, then the whole matrix of weights."""
    from model.core import attention

    return attention.attention(query, key, value)[0]


def fused(query: "Tensor", key: "Tensor", value: "Tensor") -> "Tensor":
    """torch's fused kernel: the same numbers tile by tile, with no matrix kept. Without an axis for the batch torch
    would not take it."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]


def window(query: "Tensor", key: "Tensor", value: "Tensor", side: int = WINDOW) -> "Tensor":
    """Keys at most `side` tokens away, (head, n, d_k): blocks of `side` queries over the three blocks of keys round
    them, as LongT5 and BigBird do."""
    import torch
    from torch.nn.functional import pad

    from model.core import attention

    n = query.shape[-2]
    rest = -n % side
    blocks = pad(query, (0, 0, 0, rest)).unflatten(-2, (-1, side))
    keys, values = (pad(each, (0, 0, side, side + rest)).unfold(-2, 3 * side, side).transpose(-2, -1)
                    for each in (key, value))
    rows, columns = torch.arange(side)[:, None], torch.arange(3 * side)
    places = torch.arange(0, n, side)[:, None, None] + columns - side
    allowed = (columns >= rows) & (columns <= rows + 2 * side) & (places >= 0) & (places < n)
    return attention.attention(blocks, keys, values, allowed)[0].flatten(-3, -2)[..., :n, :]


def linear(tokens: "Tensor", weights: "Sequence[Tensor]") -> "Tensor":
    """Return everything else in a layer, (n, d_model): the projections to queries, keys, values and out of the heads,
    and the feed-forward layer of 4 d."""
    *projections, up, down = weights
    for projection in projections:
        tokens = tokens @ projection
    return (tokens @ up).relu_() @ down


def multiplications(way: str, n: np.ndarray | float, d_model: int, side: int = WINDOW) -> np.ndarray | float:
    """Multiplications of one layer: 2 n² d for the scores and the mix, 2 n (2r + 1) d within a window (at most n² d),
    12 n d² for the linear layers.

    The softmax has none that grow with d and is left out; so are the additions, one for each multiplication.
    """
    if way == "linear":
        return 12 * n * d_model**2
    return 2 * n * (np.minimum(n, 2 * side + 1) if way == "window" else n) * d_model


def balanced_length(d_model: int) -> int:
    """Return the length n = 6 d at which scores and mix need as many multiplications as the linear layers: 2 n² d = 12
    n d²."""
    return 6 * d_model


def bytes_held(way: str, n: np.ndarray | int, d_model: int, side: int = WINDOW) -> np.ndarray | int:
    """Return bytes that the formulas ask for at once: scores and weights of every head (one number a row for the fused
    kernel), and the output."""
    heads = d_model // D_K
    numbers = {"plain": 2 * heads * n * n, "fused": heads * n, "window": 2 * heads * n * np.minimum(n, 2 * side + 1)}
    return FLOAT * (numbers[way] + n * d_model)


def bytes_needed(way: str, n: int, d_model: int) -> int:
    """Return what a computation takes at most on its way, in bytes, given and made: decides whether it may run."""
    heads = d_model // D_K
    held = {"plain": 2 * heads * n * n, "fused": 2 * n * d_model + BLOCK,
            "window": 12 * heads * n * WINDOW + n * d_model, "linear": 8 * n * d_model}
    return FLOAT * (held[way] + 4 * n * d_model)


def bytes_allowed() -> float:
    """Return bytes that a measurement may take: CLEARHEAD_MEASURE_MB (1024), and never more than a quarter of what is
    free."""
    from model.core.limits import memory_free

    return min(LIMITS.measure_bytes, SHARE * memory_free())


def stop_reason(way: str, n: int, d_model: int, before: Cost | None) -> str | None:
    """Return why length n is not measured: "memory", "time" (by what n/2 took), "length"; None if it is."""
    if n > END:
        return "length"
    if bytes_needed(way, n, d_model) > bytes_allowed():
        return "memory"
    growth = 4 if way in ("plain", "fused") else 2
    return "time" if before is not None and growth * before.seconds > LONGEST else None


def prepare(way: str, n: int, d_model: int) -> Callable:
    """Return the computation on random numbers, ready to be called."""
    import torch

    def random(*shape: int) -> "Tensor":
        return torch.randn(*shape, generator=torch.Generator().manual_seed(0))

    if way == "linear":
        tokens = random(n, d_model)
        weights = [random(*shape) / math.sqrt(shape[0])
                   for shape in [(d_model, d_model)] * 4 + [(d_model, 4 * d_model), (4 * d_model, d_model)]]
        return lambda: linear(tokens, weights)
    given = [random(d_model // D_K, n, D_K) for _ in range(3)]
    return lambda: {"plain": plain, "fused": fused, "window": window}[way](*given)


def peak_bytes(call: Callable) -> int:
    """Return the most bytes that torch held at once for a call, beyond what it was given; by torch's own count of every
    allocation."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")   # else each profile writes to the server's log
    from torch.autograd.profiler import profile

    with profile(profile_memory=True) as seen:
        call()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    counted = sorted((each for each in events if each.get("name") == "[memory]"), key=lambda each: each["ts"])
    return int(np.cumsum([each["args"]["Bytes"] for each in counted]).max(initial=0))


def clock() -> Callable[[], float]:
    """This thread's own clock; on Windows, where that one moves in steps of a 64th of a second, the performance
    counter."""
    return time.perf_counter if sys.platform == "win32" else time.thread_time


def seconds_of(call: Callable) -> float:
    """Return seconds by that clock, the shortest of as many calls as fit into ENOUGH, at least one: what else the
    machine does only ever adds."""
    now, best, spent = clock(), math.inf, 0.0
    while spent < ENOUGH:
        start = now()
        call()
        took = now() - start
        best, spent = min(best, took), spent + took
    return best


def measure(question: CostQuery, report: Progress) -> Cost:
    """Measures; stops between the two calls when nobody waits any more. Raises UserError for what is no question or
    does not fit."""
    import torch

    from model.core.limits import one_thread

    way, n, d_model = question.way, question.n, question.d_model
    if way not in WAYS or not 1 <= n <= END or not D_K <= d_model <= MOST_WIDTH or d_model % D_K:
        raise UserError(f"A measurement is one of {', '.join(WAYS)}, at most {END:,} tokens, and a width of {D_K} to "
                        f"{MOST_WIDTH} in steps of {D_K}.")
    needed, free = bytes_needed(way, n, d_model) / 2**20, bytes_allowed() / 2**20
    if needed > free:
        raise UserError(f"{n:,} tokens would take {needed:,.0f} MB and a measurement may take {free:,.0f} MB here; "
                        f"measure fewer tokens.")
    done = max(0.0, math.log(n / START, END / START))   # of all lengths
    with torch.inference_mode(), one_thread():
        call = prepare(way, n, d_model)
        report(done, f"{way}, {n:,} tokens: memory")
        peak = peak_bytes(call)
        report(done, f"{way}, {n:,} tokens: time")
        return Cost(seconds_of(call), peak)


def machine() -> str:
    """Return what measures here: the version of torch and the system."""
    import platform

    import torch

    return f"one thread of torch {torch.__version__}, {platform.system()} {platform.machine()}"


def power(lengths: np.ndarray, numbers: np.ndarray) -> tuple[float, float]:
    """Return (exponent p, factor c) of numbers ≈ c · nᵖ by least squares on both logarithms, over the FITTED longest
    lengths."""
    p, log_c = np.polyfit(np.log(lengths[-FITTED:]), np.log(numbers[-FITTED:]), 1)
    return float(p), float(np.exp(log_c))


def crossing(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Return the length from which `one` costs more than `other` for good, between measured lengths by powers; None if
    there is none."""
    lengths = sorted(set(one) & set(other))
    gaps = [math.log(one[n] / other[n]) for n in lengths]
    below = [place for place, gap in enumerate(gaps) if gap <= 0]
    if not below or below[-1] == len(lengths) - 1:
        return None
    last = below[-1]
    share = gaps[last] / (gaps[last] - gaps[last + 1])
    return float(lengths[last] * (lengths[last + 1] / lengths[last]) ** share)


@dataclass(frozen=True, eq=False)
class Step:
    """The running numbers after one tile."""

    keys: tuple[int, int]   # the tile's places (from, to)
    m: float                # running maximum
    l: float               # running sum  # noqa: E741 (the paper's letter)
    o: np.ndarray           # running mix, (d_v)
    kept: float             # what the old l and o were multiplied by

    @property
    def answer(self) -> np.ndarray:
        """The row's output if the text ended here, (d_v)."""
        return self.o / self.l


def steps(scores: np.ndarray, values: np.ndarray, tile: int) -> list[Step]:
    """Return one row's scores (key) and the values (key, d_v), `tile` keys at a time; float64. The last step's answer
    is the row's output."""
    tiles = []
    m, total, mix = -np.inf, 0.0, np.zeros(values.shape[1])
    for start in range(0, len(scores), tile):
        part, there = scores[start:start + tile], values[start:start + tile]
        top = max(m, float(part.max()))
        factor, raised = float(np.exp(m - top)), np.exp(part - top)
        m, total, mix = top, factor * total + float(raised.sum()), factor * mix + raised @ there
        tiles.append(Step((start, start + len(part)), m, total, mix, factor))
    return tiles


def tiled_attention(query: np.ndarray, key: np.ndarray, value: np.ndarray, tile: int) -> np.ndarray:
    """Return softmax(Q Kᵀ / √d_k) V, (query, d_v), with no more than tile × tile scores at a time: all rows of a tile
    of queries take the steps at once."""
    out = np.empty((len(query), value.shape[1]), query.dtype)
    for first in range(0, len(query), tile):
        rows = query[first:first + tile]
        m, total = np.full((len(rows), 1), -np.inf, query.dtype), np.zeros((len(rows), 1), query.dtype)
        mix = np.zeros((len(rows), value.shape[1]), query.dtype)
        for start in range(0, len(key), tile):
            scores = rows @ key[start:start + tile].T / np.sqrt(query.shape[1]).astype(query.dtype)
            top = np.maximum(m, scores.max(1, keepdims=True))
            factor, raised = np.exp(m - top), np.exp(scores - top)
            m, total = top, factor * total + raised.sum(1, keepdims=True)
            mix = factor * mix + raised @ value[start:start + tile]
        out[first:first + tile] = mix / total
    return out


@functools.cache
def agreement(n: int, tile: int, d_k: int = 64, seed: int = 0) -> tuple[float, float]:
    """Return the largest differences from equation (1) in float64 of the same attention on random numbers in float32:
    in tiles, and by torch's fused kernel."""
    import torch

    from model.core import attention

    query, key, value = np.random.default_rng(seed).standard_normal((3, n, d_k)).astype(np.float32)
    exact = attention.attention(*(torch.from_numpy(each.astype(np.float64)) for each in (query, key, value)))[0].numpy()
    by_torch = fused(*(torch.from_numpy(each)[None] for each in (query, key, value)))[0].numpy()
    tiled = tiled_attention(query, key, value, tile)
    return float(np.abs(tiled - exact).max()), float(np.abs(by_torch - exact).max())


TYPES = ("attention", "recurrent", "convolution", "restricted")
COLUMNS = ("complexity", "steps", "path")
TOKENS, WIDTH = 24, 16      # of the shuffled text
KERNEL, NEAR = 3, 5         # of the layers that it is put through


def table(kind: str, n: np.ndarray | float, d: int, k: int, r: int) -> dict[str, np.ndarray | float]:
    """Return one row of table 1, for every n: complexity of a layer, sequential steps, longest path between two tokens.

    The convolution is dilated, log_k n; one with a contiguous kernel needs n / k layers (the paper, section 4).
    """
    one = np.ones_like(n, dtype=float) if isinstance(n, np.ndarray) else 1.0
    rows = {"attention": (1.0 * n * n * d, one, one), "recurrent": (1.0 * n * d * d, n * one, n * one),
            "convolution": (1.0 * k * n * d * d, one, np.maximum(1, np.log(n) / np.log(k))),
            "restricted": (1.0 * np.minimum(r, n) * n * d, one, np.maximum(1, n / r))}
    return dict(zip(COLUMNS, rows[kind], strict=True))


def cheapest(n: int, d: int, k: int, r: int) -> tuple[str, ...]:
    """Return the types with the least complexity: several where they are equal."""
    costs = {kind: table(kind, n, d, k, r)["complexity"] for kind in TYPES}
    return tuple(kind for kind, cost in costs.items() if cost == min(costs.values()))


@dataclass(frozen=True, eq=False)
class Weights:
    """Random weights that the four layers share, float64: three square matrices (d, d) and a kernel (k, d, d)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    kernel: np.ndarray


def weights(k: int = KERNEL, seed: int = 0) -> Weights:
    """Return weights drawn with a seed, for a convolution of k tokens."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    return Weights(a, b, c, rng.standard_normal((k, WIDTH, WIDTH)) / np.sqrt(k * WIDTH))


def run(kind: str, tokens: np.ndarray, w: Weights, r: int = NEAR) -> np.ndarray:
    """Return one layer of this type without positions over tokens (n, d), float64. restricted: the r keys nearest to
    each token's own place."""
    if kind == "recurrent":
        return _recurrent(tokens, w)
    if kind == "convolution":
        return _convolution(tokens, w.kernel)
    places = np.arange(len(tokens))
    apart = places - places[:, None]
    near = (-((r - 1) // 2) <= apart) & (apart <= r // 2) if kind == "restricted" else np.ones_like(apart, bool)
    scores = np.where(near, (tokens @ w.a) @ (tokens @ w.b).T / np.sqrt(WIDTH), -np.inf)
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True) @ (tokens @ w.c)


def _recurrent(tokens: np.ndarray, w: Weights) -> np.ndarray:
    """h_t = tanh(x_t A + h_{t−1} B): each step waits for the one before (Elman 1990)."""
    state, states = np.zeros(WIDTH), []
    for token in tokens:
        state = np.tanh(token @ w.a + state @ w.b)
        states.append(state)
    return np.array(states)


def _convolution(tokens: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """y_t = Σ_i x_{t+i−⌊k/2⌋} K_i, with zeros beyond both ends."""
    k = len(kernel)
    padded = np.pad(tokens, ((k // 2, k - 1 - k // 2), (0, 0)))
    return sum(padded[i:i + len(tokens)] @ kernel[i] for i in range(k))


def order_sensitivity(kind: str, seed: int = 0) -> float:
    """‖f(P x) − P f(x)‖ / ‖f(x)‖ for one shuffle P of TOKENS tokens: 0 if the layer assumes nothing about their
    order."""
    rng = np.random.default_rng(seed)
    tokens, order = rng.standard_normal((TOKENS, WIDTH)), rng.permutation(TOKENS)
    w = weights(seed=seed)
    straight = run(kind, tokens, w)
    return float(np.linalg.norm(run(kind, tokens[order], w) - straight[order]) / np.linalg.norm(straight))


Unit = tuple[int, int]   # (its layer, its place); layer 0 are the tokens


def units(kind: str, tokens: int, first: int, second: int, k: int = KERNEL) -> list[tuple[Unit, Unit]]:
    """Return what is joined to what in as many layers of this type (attention, recurrent, convolution) as it takes to
    bring two of the tokens together, at least one."""
    places = range(tokens)
    if kind == "recurrent":
        return [((0, place), (1, place)) for place in places] + [((1, place), (1, place + 1)) for place in places[:-1]]
    reach = tokens if kind == "attention" else k // 2
    return [((layer, low), (layer + 1, high)) for layer in range(max(1, path_length(kind, first, second, k)))
            for high in places for low in places if abs(high - low) <= reach]


def path_length(kind: str, first: int, second: int, k: int = KERNEL) -> int:
    """Return how many layers (attention, a contiguous convolution) or steps (a recurrence) it takes until one unit has
    something of both tokens; 0 for a token and itself."""
    apart = abs(second - first)
    return {"attention": min(apart, 1), "recurrent": apart, "convolution": -(-apart // (k - 1))}[kind]


def path(kind: str, first: int, second: int, k: int = KERNEL) -> list[tuple[Unit, Unit]]:
    """Return the shortest way on which something of both tokens comes together, edge by edge; none for a token and
    itself."""
    low, high = sorted((first, second))
    if low == high:
        return []
    if kind == "attention":
        return [((0, low), (1, high)), ((0, high), (1, high))]
    if kind == "recurrent":
        steps = [((1, place), (1, place + 1)) for place in range(low, high)]
        return [((0, low), (1, low)), *steps, ((0, high), (1, high))]
    reach, edges = k // 2, []
    for layer in range(path_length(kind, low, high, k)):
        left = min(reach, high - low)
        right = min(reach, high - low - left)
        edges += [((layer, low), (layer + 1, low + left)), ((layer, high), (layer + 1, high - right))]
        low, high = low + left, high - right
    return edges
