"""Show why scores are divided by √d_k, with random vectors, real heads and three training runs."""
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np

from clearhead.model.core import attention, heads
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen, quiet, with_arrays
from clearhead.model.core.record import Layer
from clearhead.model.core.statistics import entropy
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.lessons import cost, scores, softmax

KINDS = ("normal", "uniform", "sign")   # distributions of the components
DRAWS = 1000
WIDTHS = tuple(2**power for power in range(13))                # d_k from 1 to 4,096
FLOAT32_END = float(np.log(np.finfo(np.float32).max))          # 88.72, the largest argument of exp in float32
INTEGRATED = 4_000                                             # number of query lengths in the integral
COMPARED = 8                                                   # draws over which ranges of medians are stated
GROWN = 60.0                                                   # factor on the queries in the overflow test


def draws(n_keys: int) -> int:
    """Return the number of rows to draw. Short rows need more, because their medians vary more between seeds."""
    return DRAWS * min(4, max(1, 64 // n_keys))


def components(shape: tuple[int, ...], rng: np.random.Generator, kind: str) -> np.ndarray:
    """Draw independent float32 numbers with mean 0 and variance 1. kind: normal, uniform from −√3 to √3, or sign for −1
    and 1 with equal probability."""
    if kind == "normal":
        return rng.standard_normal(shape, np.float32)
    if kind == "uniform":
        return (rng.random(shape, np.float32) - np.float32(0.5)) * np.float32(np.sqrt(12))
    return rng.integers(0, 2, shape, np.int8).astype(np.float32) * 2 - 1


def rows_of(d_k: int, n_keys: int, seed: int, kind: str = "normal") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries, keys and their products q · k for `draws` rows of components of one of KINDS, determined by the
    seed. To limit the time, there are fewer wide heads (200 down to 20), with more queries each. With few keys, the
    queries of a head use several sets of keys."""
    rng, fewer = np.random.default_rng([seed, d_k, n_keys, KINDS.index(kind)]), np.clip(51_200 // d_k, 20, 200)
    sets = draws(n_keys) // DRAWS
    queries = np.repeat(components((fewer, DRAWS // fewer, d_k), rng, kind), sets, axis=0)
    keys = components((fewer * sets, n_keys, d_k), rng, kind)
    return queries, keys, (queries @ keys.transpose(0, 2, 1)).astype(np.float64)


def weights_of(dots: np.ndarray, divisor: float) -> np.ndarray:
    """Return softmax(q · k / divisor), float64 (head, query, key), with the same function as for every drawn head."""
    import torch

    return attention.softmax(torch.from_numpy(dots / divisor)).numpy()


def distances(keys: np.ndarray) -> np.ndarray:
    """Return |k_i − k_j|², float64 (head, key, key)."""
    products = (keys @ keys.transpose(0, 2, 1)).astype(np.float64)
    squares = np.einsum("hkk->hk", products)
    return np.maximum(squares[:, :, None] + squares[:, None, :] - 2 * products, 0)


def gradient_norm(weights: np.ndarray, apart: np.ndarray, divisor: float) -> np.ndarray:
    """Return the Frobenius norm of ∂p/∂q = (diag p − p pᵀ) K / divisor, (head, query), the gradient that reaches the
    query and thus W_Q.

    The rows of (diag p − p pᵀ) K are p_i (k_i − m) with the mean key m = Σ p_j k_j. |k_i − m|² is computed from the
    squared distances between keys. apart: (head, key, key).
    """
    from_mean = weights @ apart
    squares = from_mean - (from_mean * weights).sum(-1, keepdims=True) / 2
    return np.sqrt((weights**2 * np.maximum(squares, 0)).sum(-1)) / divisor


@with_arrays
class Survey:
    """The measurements at each width, float64 (width, draw), or at one width, (draw). The keys are "plain" (without the
    division) and "scaled" (with it)."""

    variance: np.ndarray              # variance of the products q · k in a row
    entropy: dict[str, np.ndarray]    # bits
    slope: dict[str, np.ndarray]      # ‖diag p − p pᵀ‖
    gradient: dict[str, np.ndarray]   # ‖∂p/∂q‖


@functools.lru_cache(maxsize=64)   # half a megabyte per entry
def at_width(d_k: int, n_keys: int, seed: int, kind: str = "normal") -> tuple[Survey, np.ndarray]:
    """Return the measurements at one width, and the products q · k, float64 (head, query, key)."""
    _, keys, dots = rows_of(d_k, n_keys, seed, kind)
    apart, found = distances(keys), Survey(dots.var(-1).ravel(), {}, {}, {})
    for name, divisor in (("plain", 1.0), ("scaled", d_k**0.5)):
        weights = weights_of(dots, divisor)
        found.entropy[name] = entropy(weights, base=2).ravel()
        found.slope[name] = softmax.jacobian_norm(weights, 1.0).ravel()
        found.gradient[name] = gradient_norm(weights, apart, divisor).ravel()
    return found, dots


@functools.lru_cache(maxsize=8)
def survey(n_keys: int, seed: int, kind: str = "normal") -> Survey:
    """Measure all WIDTHS."""
    with ThreadPoolExecutor() as pool:   # numpy releases the GIL while drawing and multiplying
        found = list(pool.map(lambda d_k: at_width(d_k, n_keys, seed, kind)[0], WIDTHS[::-1]))[::-1]
    curves = {name: {which: np.array([getattr(each, name)[which] for each in found]) for which in ("plain", "scaled")}
              for name in ("entropy", "slope", "gradient")}
    return Survey(np.array([each.variance for each in found]), **curves)


@functools.cache
def t5_variance() -> np.ndarray:
    """Return the variance of q · k without the division if W_Q is initialised with the standard deviation
    (d_model · d_k)^−½ and W_K with d_model^−½, as in T5, for 20 random starts with 32 keys, (width, start)."""
    d_model, n_keys = 32, 32
    rng, variances = np.random.default_rng(0), np.empty((len(WIDTHS), 20))
    for place in np.ndindex(variances.shape):
        d_k = WIDTHS[place[0]]
        w_q, w_k = rng.standard_normal((2, d_k, d_model), np.float32) * d_model**-0.5
        token, others = rng.standard_normal(d_model, np.float32), rng.standard_normal((n_keys, d_model), np.float32)
        variances[place] = (others @ (w_k.T @ (w_q @ token)) * d_k**-0.5).var()
    return variances


def crossing(found: Survey) -> float | None:
    """Return the d_k above which the median gradient is smaller without the division than with it, or None if there is
    none. Interpolates between WIDTHS on a log scale."""
    plain, scaled = (dict(zip(WIDTHS, np.maximum(np.median(found.gradient[which], axis=1), 1e-300), strict=True))
                     for which in ("plain", "scaled"))
    return cost.crossing(scaled, plain)


def entropy_over(dots: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of softmax(q · k / T), (temperature, draw). T = √d_k is the usual division."""
    return np.array([entropy(weights_of(dots, temperature), base=2).ravel() for temperature in temperatures])


def band(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the median and the 5th and 95th percentiles over draws, from numbers (width, draw)."""
    low, middle, high = np.percentile(numbers, [5, 50, 95], axis=1)
    return middle, low, high


@functools.lru_cache(maxsize=256)
def overflow_share(d_k: int, n_keys: int, divisor: float = 1.0) -> float:
    """Return the share of rows in which e^(q · k / divisor) overflows float32 for some key, for normal components.

    The share is computed by integration. For a query of length r, the scores of its keys are independent and normal
    with standard deviation r / divisor, and r² has a χ² distribution with d_k degrees of freedom.
    """
    from scipy import stats

    beyond = stats.norm.sf(FLOAT32_END * divisor / stats.chi.ppf((np.arange(INTEGRATED) + 0.5) / INTEGRATED, d_k))
    return float(-np.expm1(n_keys * np.log1p(-beyond)).mean())


@functools.lru_cache(maxsize=64)
def numbers_at(d_k: int, n_keys: int, seed: int, kind: str = "normal") -> dict[str, float]:
    """Measure the four reasons given in textbooks at one width, {NAME_plain and NAME_scaled: number}. NAME is entropy,
    slope, gradient or largest (the largest weight), which are medians; gradient_mean; spread, the standard deviation of
    the softmax's input; or output, the root mean square of an output component for values of variance 1."""
    found, dots = at_width(d_k, n_keys, seed, kind)
    values = components((len(dots), n_keys, 64), np.random.default_rng(seed + 1), kind)
    numbers: dict[str, float] = {}
    for which, divisor in (("plain", 1.0), ("scaled", d_k**0.5)):
        weights, gradients = weights_of(dots, divisor), found.gradient[which]
        here = {"entropy": np.median(found.entropy[which]), "slope": np.median(found.slope[which]),
                "gradient": np.median(gradients), "gradient_mean": gradients.mean(), "spread": (dots / divisor).std(),
                "output": np.sqrt(((weights @ values) ** 2).mean()), "largest": np.median(weights.max(-1))}
        numbers |= {f"{name}_{which}": float(number) for name, number in here.items()}
    return numbers


@functools.lru_cache(maxsize=64)
def ranges_at(d_k: int, n_keys: int, seed: int, kind: str = "normal") -> dict[str, tuple[float, float]]:
    """Return the smallest and largest of each of `numbers_at` in COMPARED draws, of which this seed's is the first."""
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda each: numbers_at(d_k, n_keys, each, kind), range(seed, seed + COMPARED)))
    return {name: (min(each[name] for each in found), max(each[name] for each in found)) for name in found[0]}


@with_arrays
class HeadScale:
    """The effect of the division by √d_k in one head."""

    divisor: float                   # divisor used by the head
    d_k: int                         # dimension of queries and keys
    component: tuple[float, float]   # mean squares of the components of q and of k
    predicted: float                 # standard deviation of q · k for independent components
    measured: float                  # measured standard deviation of q · k
    entropy: dict[str, np.ndarray]   # {"own" or "undone": entropy of each row in bits (query)}
    absorbed: float                  # largest difference in weights between q · k · scale and (q · scale) · k


def head_scale(layer: Layer, head: int) -> HeadScale:
    """Measure one head with and without the division."""
    query = layer.query[head].astype(np.float64)
    key = layer.key[layer.group(head)].astype(np.float64)
    dots, scores = query @ key.T, cast(np.ndarray, heads.scores(layer, head)).astype(np.float64)
    rest = np.nan_to_num(scores) - dots * layer.scale     # bias and the effect of a soft cap
    with np.errstate(invalid="ignore"):   # a row without an allowed key is NaN
        own, undone, folded = (attention.softmax(logits, ~np.isnan(scores)) for logits in (
            np.nan_to_num(scores), dots + rest, (query * layer.scale) @ key.T + rest))
    squares = float((query**2).mean()), float((key**2).mean())
    return HeadScale(1 / layer.scale, query.shape[1], squares,
                     float(np.sqrt(query.shape[1] * squares[0] * squares[1])), float(dots.std()),
                     {"own": entropy(own, base=2), "undone": entropy(undone, base=2)},
                     float(np.abs(own - folded).max()))


DIVISORS = ("none", "root", "width")
STEPS, EVERY = scores.STEPS, 10     # training steps; steps averaged per point of a curve and between two checkpoints
LAST = 20                           # number of steps averaged for the final value


@frozen
class TrainingQuery:
    """How does a model learn with each of DIVISORS?"""

    d_k: int
    seed: int

    def answer(self, models: Models, report: Progress) -> "Trainings":
        """Train all models. The result is the same in every process."""
        with one_thread():
            return run(self, report)


@with_arrays
class Trainings:
    """The training runs by divisor, all with the same initial parameters, float64."""

    right: dict[str, np.ndarray]   # accuracy on each batch before its update (step)
    film: dict[str, np.ndarray]    # weights between all symbols, every EVERY steps (checkpoint, query, key)

    def end(self, which: str) -> float:
        """Return the final accuracy, the mean over the last LAST steps."""
        return float(self.right[which][-LAST:].mean())

    def bits(self, which: str) -> float:
        """Return the mean entropy of the rows before training, in bits."""
        return float(entropy(self.film[which][0], base=2).mean())


def run(question: TrainingQuery, report: Progress = quiet) -> Trainings:
    """Train all three models on the same rows with the same initial parameters. `report` may raise an exception to
    stop."""
    import torch

    def train(number: int, divisor: float) -> tuple[np.ndarray, np.ndarray]:
        part, frames = scores.start(question.d_k, question.seed), list[np.ndarray]()

        def done(step: int) -> None:
            if step % EVERY == 0:
                with torch.no_grad():
                    frames.append(torch.softmax((part["query"] @ part["key"].T).double() / divisor, -1).numpy())
            report((number + step / STEPS) / len(DIVISORS), f"model {number + 1} of {len(DIVISORS)}, step {step}")

        done(0)
        _, right = scores.train(part, lambda query, key: query @ key.transpose(1, 2) / divisor, question.seed, done)
        return right, np.array(frames)

    trained = [train(number, divisor) for number, divisor in enumerate((1.0, question.d_k**0.5, question.d_k))]
    right, film = (dict(zip(DIVISORS, each, strict=True)) for each in zip(*trained, strict=True))
    return Trainings(right, film)
