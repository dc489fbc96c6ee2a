r"""The paper's table of layer types (Vaswani et al. 2017, table 1), and what each type assumes of its input, by
shuffling it.

n: tokens, d: width, k: the convolution's kernel, r: how many keys a restricted attention has. The table's formulas are
orders of growth, O(·): here they stand without the constant. """
from dataclasses import dataclass

import numpy as np

TYPES = ("attention", "recurrent", "convolution", "restricted")
COLUMNS = ("complexity", "steps", "path")
TOKENS, WIDTH = 24, 16      # of the shuffled text
KERNEL, NEAR = 3, 5         # of the layers that it is put through


def table(kind: str, n: np.ndarray | float, d: int, k: int, r: int) -> dict[str, np.ndarray | float]:
    """One row of table 1, for every n: complexity of a layer, sequential steps, longest path between two tokens.

    The convolution is dilated, log_k n; one with a contiguous kernel needs n / k layers (the paper, section 4).
    """
    one = np.ones_like(n, dtype=float) if isinstance(n, np.ndarray) else 1.0
    rows = {"attention": (1.0 * n * n * d, one, one), "recurrent": (1.0 * n * d * d, n * one, n * one),
            "convolution": (1.0 * k * n * d * d, one, np.maximum(1, np.log(n) / np.log(k))),
            "restricted": (1.0 * np.minimum(r, n) * n * d, one, np.maximum(1, n / r))}
    return dict(zip(COLUMNS, rows[kind], strict=True))


def cheapest(n: int, d: int, k: int, r: int) -> tuple[str, ...]:
    """The types with the least complexity: several where they are equal."""
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
    """Weights drawn with a seed, for a convolution of k tokens."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    return Weights(a, b, c, rng.standard_normal((k, WIDTH, WIDTH)) / np.sqrt(k * WIDTH))


def run(kind: str, tokens: np.ndarray, w: Weights, r: int = NEAR) -> np.ndarray:
    """One layer of this type without positions over tokens (n, d), float64. restricted: the r keys nearest to each
    token's own place."""
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
    """What is joined to what in as many layers of this type (attention, recurrent, convolution) as it takes to bring
    two of the tokens together, at least one."""
    places = range(tokens)
    if kind == "recurrent":
        return [((0, place), (1, place)) for place in places] + [((1, place), (1, place + 1)) for place in places[:-1]]
    reach = tokens if kind == "attention" else k // 2
    return [((layer, low), (layer + 1, high)) for layer in range(max(1, path_length(kind, first, second, k)))
            for high in places for low in places if abs(high - low) <= reach]


def path_length(kind: str, first: int, second: int, k: int = KERNEL) -> int:
    """How many layers (attention, a contiguous convolution) or steps (a recurrence) it takes until one unit has
    something of both tokens; 0 for a token and itself."""
    apart = abs(second - first)
    return {"attention": min(apart, 1), "recurrent": apart, "convolution": -(-apart // (k - 1))}[kind]


def path(kind: str, first: int, second: int, k: int = KERNEL) -> list[tuple[Unit, Unit]]:
    """The shortest way on which something of both tokens comes together, edge by edge; none for a token and itself."""
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
