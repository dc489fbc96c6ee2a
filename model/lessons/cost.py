r"""Count the multiplications of one attention layer, and measure its time and memory on this machine.

Queries, keys and values are float32 (head, n, D_K) with d_model = heads · D_K; the input of the linear layers is
float32 (n, d_model). There is one text, and no mask except the window's. Time is measured on one torch thread with that
thread's CPU clock, which ignores other processes (see `clock`).
"""
import functools
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import attention
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.memory import FLOAT, memory_free
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen, with_arrays
from clearhead.model.core.torch_runs import one_thread, seeded

if TYPE_CHECKING:
    from torch import Tensor


WAYS = ("plain", "fused", "window", "linear")
D_K = 64
LENGTHS = tuple(64 * 2**power for power in range(12))   # each length is twice the previous one
WINDOW = 64                              # keys on each side of the sliding window
LONGEST = 1.5                            # maximum seconds of one computation, predicted from the previous length
# seconds for which shorter computations are repeated; the fastest repetition counts
ENOUGH = 0.04
SHARE = 1 / 4                            # maximum share of the free memory to use
# maximum buffer size of torch's fused kernel, in numbers per thread (FlashAttentionKernel.cpp)
BLOCK = 256 * 640
FITTED = 4                               # number of lengths, the longest ones, to fit the power law to


@frozen
class Cost:
    """The time of one computation in seconds, and its peak memory in bytes, without its inputs."""

    seconds: float
    peak: int


@frozen
class CostsQuery:
    """How expensive is every method of WAYS, in a layer of one width, at every length that is not too slow?"""

    d_model: int

    def answer(self, models: Models, report: Progress) -> dict[str, dict[int, Cost]]:
        """Return {method: {length: cost}}."""
        found = dict[str, dict[int, Cost]]((way, {}) for way in WAYS)
        for n in LENGTHS:
            for way, known in found.items():
                before = known.get(n // 2)
                if (before or n == LENGTHS[0]) and fits(way, n, self.d_model, before):
                    known[n] = measure(way, n, self.d_model, report)
        return found


def plain(query: "Tensor", key: "Tensor", value: "Tensor") -> "Tensor":
    """Compute equation (1) literally, (head, n, d_k), with full matrices of scores and weights."""
    return attention.attention(query, key, value)[0]


def fused(query: "Tensor", key: "Tensor", value: "Tensor") -> "Tensor":
    """Compute the same result with torch's fused kernel, which processes tiles and stores no matrix. It requires a
    batch axis."""
    import torch

    return torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]


def window(query: "Tensor", key: "Tensor", value: "Tensor", side: int = WINDOW) -> "Tensor":
    """Attend to keys at most `side` tokens away, (head, n, d_k). Each block of `side` queries is computed with the
    three nearest blocks of keys, as in LongT5 and BigBird."""
    import torch
    from torch.nn.functional import pad

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
    """Compute the rest of a layer, (n, d_model): the projections to queries, keys and values, the output projection,
    and the feed-forward layer of width 4 d."""
    *projections, up, down = weights
    for projection in projections:
        tokens = tokens @ projection
    return (tokens @ up).relu_() @ down


def multiplications(way: str, n: np.ndarray | float, d_model: int) -> np.ndarray | float:
    """Count the multiplications of one layer: 2 n² d for scores and outputs, 2 n min(n, 2r + 1) d with a window, and
    12 n d² for the linear layers.

    The count excludes the softmax, whose cost does not grow with d, and additions, of which there is one per
    multiplication.
    """
    if way == "linear":
        return 12 * n * d_model**2
    return 2 * n * (np.minimum(n, 2 * WINDOW + 1) if way == "window" else n) * d_model


def balanced_length(d_model: int) -> int:
    """Return the length n at which attention needs the same number of multiplications as the linear layers: n = 6 d,
    from 2 n² d = 12 n d²."""
    return 6 * d_model


def bytes_held(way: str, n: np.ndarray | int, d_model: int) -> np.ndarray | int:
    """Return the theoretical memory in bytes for the output and every head's scores and weights. The fused kernel only
    stores one number per row."""
    heads = d_model // D_K
    numbers = {"plain": 2 * heads * n * n, "fused": heads * n, "window": 2 * heads * n * np.minimum(n, 2 * WINDOW + 1)}
    return FLOAT * (numbers[way] + n * d_model)


def bytes_needed(way: str, n: int, d_model: int) -> int:
    """Return an upper bound on the memory of a computation in bytes, including inputs."""
    heads = d_model // D_K
    held = {"plain": 2 * heads * n * n, "fused": 2 * n * d_model + BLOCK,
            "window": 12 * heads * n * WINDOW + n * d_model, "linear": 8 * n * d_model}
    return FLOAT * (held[way] + 4 * n * d_model)


def fits(way: str, n: int, d_model: int, before: Cost | None) -> bool:
    """Return whether length n will be fast enough, judged by `before`, the cost at n/2, and has room in memory: in
    CLEARHEAD_MEASURE_MB (default 1024), and in a quarter of the free memory."""
    growth = 4 if way in ("plain", "fused") else 2
    room = min(LIMITS.measure_bytes, SHARE * memory_free())
    return bytes_needed(way, n, d_model) <= room and (before is None or growth * before.seconds <= LONGEST)


def prepare(way: str, n: int, d_model: int) -> Callable:
    """Return a function that runs the computation on random inputs."""
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
    """Return the peak memory of a call in bytes, without its inputs, from torch's allocation profile."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")   # otherwise every profile writes to the log
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
    """Return this thread's CPU clock, or on Windows, where its resolution is only 1/64 s, the performance counter."""
    return time.perf_counter if sys.platform == "win32" else time.thread_time


def seconds_of(call: Callable) -> float:
    """Measure the seconds of a call with `clock`. Calls it repeatedly for ENOUGH seconds and returns the shortest time,
    because interference only adds time."""
    now, best, spent = clock(), math.inf, 0.0
    while spent < ENOUGH:
        start = now()
        call()
        took = now() - start
        best, spent = min(best, took), spent + took
    return best


def measure(way: str, n: int, d_model: int, report: Progress) -> Cost:
    """Measure memory, then time. `report` may raise an exception to stop in between."""
    import torch

    done = LENGTHS.index(n) / len(LENGTHS)
    with torch.inference_mode(), one_thread():
        call = prepare(way, n, d_model)
        report(done, f"{way}, {n:,} tokens: memory")
        peak = peak_bytes(call)
        report(done, f"{way}, {n:,} tokens: time")
        return Cost(seconds_of(call), peak)


def power(lengths: np.ndarray, numbers: np.ndarray) -> tuple[float, float]:
    """Fit c · nᵖ to the numbers at the FITTED longest lengths, by least squares on logarithms; return (p, c)."""
    p, log_c = np.polyfit(np.log(lengths[-FITTED:]), np.log(numbers[-FITTED:]), 1)
    return float(p), float(np.exp(log_c))


def crossing(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Return the length from which `one` always costs more than `other`, interpolated on log scales, or None."""
    lengths = sorted(set(one) & set(other))
    gaps = [math.log(one[n] / other[n]) for n in lengths]
    below = [place for place, gap in enumerate(gaps) if gap <= 0]
    if not below or below[-1] == len(lengths) - 1:
        return None
    last = below[-1]
    share = gaps[last] / (gaps[last] - gaps[last + 1])
    return float(lengths[last] * (lengths[last + 1] / lengths[last]) ** share)


@with_arrays
class TileStep:
    """The running values of tiled attention after one tile."""

    keys: tuple[int, int]   # the tile's keys (start, end)
    m: float                # running maximum
    l: float               # running sum  # noqa: E741 (as in the paper)
    o: np.ndarray           # running output, (d_v)
    kept: float             # factor applied to the previous l and o

    @property
    def answer(self) -> np.ndarray:
        """Output of the row for the keys so far, (d_v)."""
        return self.o / self.l


def steps(scores: np.ndarray, values: np.ndarray, tile: int) -> list[TileStep]:
    """Process one row's scores (key) and values (key, d_v) in tiles of `tile` keys, in their precision. The last
    step's `answer` is the output of the row."""
    tiles = []
    m, total, mix = -np.inf, 0.0, np.zeros(values.shape[1], values.dtype)
    for start in range(0, len(scores), tile):
        part, there = scores[start:start + tile], values[start:start + tile]
        top = max(m, float(part.max()))
        factor, raised = float(np.exp(m - top)), np.exp(part - top)
        m, total, mix = top, factor * total + float(raised.sum()), factor * mix + raised @ there
        tiles.append(TileStep((start, start + len(part)), m, total, mix, factor))
    return tiles


@functools.cache
def agreement(n: int = 1024, tile: int = 64) -> tuple[float, float]:
    """Return the largest differences of `steps` and of torch's fused kernel from equation (1) in float64, for one tile
    of float32 queries over n keys."""
    import torch

    draw = np.random.default_rng(0)
    query, key, value = (draw.standard_normal((rows, D_K)).astype(np.float32) for rows in (tile, n, n))
    exact = plain(*(torch.tensor(each, dtype=torch.float64) for each in (query, key, value))).numpy()
    tiled = [steps(row, value, tile)[-1].answer for row in query @ key.T / np.float32(math.sqrt(D_K))]
    by_torch = fused(*(torch.tensor(each)[None] for each in (query, key, value)))[0].numpy()
    return float(np.abs(tiled - exact).max()), float(np.abs(by_torch - exact).max())


TYPES = ("attention", "recurrent", "convolution", "restricted")
COLUMNS = ("complexity", "steps", "path")
KERNEL = 3                  # tokens that one unit of the drawn convolution reads


def table(kind: str, n: np.ndarray | float, d: int, k: int, r: int) -> dict[str, np.ndarray | float]:
    """Return a row of the paper's table 1 for every n: complexity per layer, sequential operations, and maximum path
    length between two tokens.

    The convolution is dilated and needs log_k n layers; a contiguous one would need n / k (the paper, section 4).
    """
    one = np.ones_like(n, dtype=float) if isinstance(n, np.ndarray) else 1.0
    rows = {"attention": (1.0 * n * n * d, one, one), "recurrent": (1.0 * n * d * d, n * one, n * one),
            "convolution": (1.0 * k * n * d * d, one, np.maximum(1, np.log(n) / np.log(k))),
            "restricted": (1.0 * np.minimum(r, n) * n * d, one, np.maximum(1, n / r))}
    return dict(zip(COLUMNS, rows[kind], strict=True))


def cheapest(n: int, d: int, k: int, r: int) -> tuple[str, ...]:
    """Return the layer types with the lowest complexity, more than one in a tie."""
    costs = {kind: table(kind, n, d, k, r)["complexity"] for kind in TYPES}
    return tuple(kind for kind, cost in costs.items() if cost == min(costs.values()))


TOKENS, WIDTH, NEAR = 24, 16, 5   # length and width of the shuffled text; keys of restricted attention


@functools.cache
def order_sensitivity(kind: str) -> float:
    """Return ‖f(P x) − P f(x)‖ / ‖f(x)‖ for one random layer f of this type, without positions, and one shuffle P of
    TOKENS random tokens: 0 if the layer ignores their order."""
    import torch
    from torch import nn

    with seeded(0), torch.inference_mode():
        x, order = torch.randn(1, TOKENS, WIDTH, dtype=torch.float64), torch.randperm(TOKENS)
        layer = {"recurrent": lambda: nn.RNN(WIDTH, WIDTH, batch_first=True),
                 "convolution": lambda: nn.Conv1d(WIDTH, WIDTH, KERNEL, padding=KERNEL // 2),
                 }.get(kind, lambda: nn.MultiheadAttention(WIDTH, 1, batch_first=True))().double()
        place = torch.arange(TOKENS)
        far = (place[:, None] - place).abs() > NEAR // 2 if kind == "restricted" else None

        def run(tokens: "Tensor") -> "Tensor":
            if kind == "convolution":
                return layer(tokens.mT).mT
            return layer(tokens)[0] if kind == "recurrent" else layer(tokens, tokens, tokens, attn_mask=far)[0]

        straight = run(x)
        return float((run(x[:, order]) - straight[:, order]).norm() / straight.norm())


Unit = tuple[int, int]   # (layer, position); layer 0 holds the tokens


def units(kind: str, tokens: int, first: int, second: int) -> list[tuple[Unit, Unit]]:
    """Return all connections between units, in the smallest number of layers (at least one) that connects two tokens.
    kind: attention, recurrent or convolution."""
    places = range(tokens)
    if kind == "recurrent":
        return [((0, place), (1, place)) for place in places] + [((1, place), (1, place + 1)) for place in places[:-1]]
    reach = tokens if kind == "attention" else KERNEL // 2
    return [((layer, low), (layer + 1, high)) for layer in range(max(1, path_length(kind, first, second)))
            for high in places for low in places if abs(high - low) <= reach]


def path_length(kind: str, first: int, second: int, k: int = KERNEL) -> int:
    """Return the number of layers (attention, contiguous convolution) or steps (recurrence) until some unit depends on
    both tokens; 0 if they are the same."""
    apart = abs(second - first)
    return {"attention": min(apart, 1), "recurrent": apart, "convolution": -(-apart // (k - 1))}[kind]


def path(kind: str, first: int, second: int, k: int = KERNEL) -> list[tuple[Unit, Unit]]:
    """Return the edges of the shortest path that connects both tokens; [] if they are the same."""
    low, high = sorted((first, second))
    if low == high:
        return []
    if kind == "recurrent":
        steps = [((1, place), (1, place + 1)) for place in range(low, high)]
        return [((0, low), (1, low)), *steps, ((0, high), (1, high))]
    reach, edges = high - low if kind == "attention" else k // 2, []
    for layer in range(path_length(kind, low, high, k)):
        left = min(reach, high - low)
        right = min(reach, high - low - left)
        edges += [((layer, low), (layer + 1, low + left)), ((layer, high), (layer + 1, high - right))]
        low, high = low + left, high - right
    return edges
