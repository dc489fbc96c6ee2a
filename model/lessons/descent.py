r"""How a weight moves: Adam step by step, the paper's learning rate, and gradient clipping on a loss with a cliff."""
import numpy as np

SIGNALS = ("steady", "noisy", "spike", "fading")
STEPS = 400               # gradients of a signal
SPIKE, AT = 100.0, 100    # how large the one large gradient is, and at which step it comes
UNFOLDED = 50             # steps of the recurrent unit behind the cliff
WANTED = 0.7              # what it should put out
LOW, HIGH = (4.2, -3.4), (6.2, -1.8)   # the corner of the plane (weight, bias) that is drawn


def signal(kind: str) -> np.ndarray:
    """Gradients of one weight, float64 (step): always 1; noise about 0.1; 1 with one of 100; falling by ten every 40
    steps."""
    if kind == "noisy":
        return 0.1 + np.random.default_rng(1).normal(size=STEPS)
    gradients = np.ones(STEPS) if kind != "fading" else 10.0 ** (-np.arange(STEPS) / 40)
    if kind == "spike":
        gradients[AT] = SPIKE
    return gradients


def adam(gradients: np.ndarray, beta1: float = 0.9, beta2: float = 0.98, epsilon: float = 1e-9) -> np.ndarray:
    """The steps of Adam in units of the learning rate, float64 (step): m̂ / (√v̂ + ε), Kingma and Ba 2015, algorithm 1.

    The defaults are those of Vaswani et al. 2017, section 5.3.
    """
    moves, mean, square = np.zeros(len(gradients)), 0.0, 0.0
    for step, gradient in enumerate(gradients, 1):
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        moves[step - 1] = mean / (1 - beta1**step) / (np.sqrt(square / (1 - beta2**step)) + epsilon)
    return moves


def rate(step: np.ndarray, d_model: int, warm_up: int) -> np.ndarray:
    """Equation (3) of Vaswani et al. 2017: d_model^-½ · min(step^-½, step · warm_up^-1½), for steps from 1; its peak is
    (d_model · warm_up)^-½."""
    step = np.asarray(step, np.float64)
    return d_model**-0.5 * np.minimum(step**-0.5, step * float(warm_up) ** -1.5)


def scaled_rate(step: int, peak: float, warm_up: int, decay: bool) -> float:
    """The shape of equation (3) with a peak of one's own, for steps from 1. warm_up 0: none. Without decay the rate
    stays at its peak."""
    rising = min(1.0, step / warm_up) if warm_up else 1.0
    return peak * rising * (min(1.0, (max(1, warm_up) / step) ** 0.5) if decay else 1.0)


def clip(gradient: np.ndarray, limit: float) -> np.ndarray:
    """The gradient, shortened to length `limit` if it is longer; its direction stays (Pascanu et al. 2013, algorithm
    1). 0: never."""
    length = np.linalg.norm(gradient)
    return gradient if not limit or length <= limit else gradient * (limit / length)


def cliff(weight: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(loss (...), its gradient (..., 2)) of one recurrent unit h ← w σ(h) + b, 50 times from 0.5, whose σ(h) should be
    0.7, squared.

    The landscape of Pascanu et al. 2013, figure 6: nearly flat, with a wall where the unit tips over.
    """
    weight, bias = np.broadcast_arrays(np.asarray(weight, np.float64), np.asarray(bias, np.float64))
    h, slope = np.full(weight.shape, 0.5), np.zeros((*weight.shape, 2))
    for _ in range(UNFOLDED):
        lit = 1 / (1 + np.exp(-h))
        slope = np.stack([lit, np.ones_like(lit)], -1) + (weight * lit * (1 - lit))[..., None] * slope
        h = weight * lit + bias
    out = 1 / (1 + np.exp(-h))
    return (out - WANTED) ** 2, (2 * (out - WANTED) * out * (1 - out))[..., None] * slope


def landscape(size: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(weights (x), biases (y), loss (y, x)) of the drawn corner."""
    weights, biases = (np.linspace(low, high, size) for low, high in zip(LOW, HIGH, strict=True))
    return weights, biases, cliff(weights[None], biases[:, None])[0]


def descend(start: tuple[float, float], step: float, limit: float, steps: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """(places (steps + 1, 2), length of each gradient before clipping (steps)) of plain gradient descent on the cliff,
    without momentum."""
    places, lengths = [np.array(start, np.float64)], []
    for _ in range(steps):
        gradient = cliff(*places[-1])[1]
        lengths.append(np.linalg.norm(gradient))
        places.append(places[-1] - step * clip(gradient, limit))
    return np.array(places), np.array(lengths)
