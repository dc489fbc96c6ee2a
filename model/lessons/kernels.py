"""Kernel regression, and the same arithmetic as attention.

Nadaraya 1964 and Watson 1964: the estimate at a place x is the average of the values y_i of all points, weighted by how
near each x_i is: ŷ(x) = Σ K((x − x_i)/h) y_i / Σ K((x − x_i)/h). With queries for x, keys for x_i and values for y_i
that is attention. Queries are (query, d), keys (key, d), values (key); everything is float64. h is in units of x. """
import numpy as np

KERNELS = ("gaussian", "epanechnikov", "triangular", "boxcar")
LIFTS = ("line", "circle")


def log_kernel(u: np.ndarray, name: str) -> np.ndarray:
    """ln K(u) for a distance u in bandwidths, without the constant that every weight shares; −∞ where the kernel is
    0."""
    inside = np.abs(u) < 1
    if name == "gaussian":
        return -(u**2) / 2
    if name == "boxcar":
        return np.where(inside, 0.0, -np.inf)
    height = 1 - (u**2 if name == "epanechnikov" else np.abs(u))
    return np.log(height, out=np.full(u.shape, -np.inf), where=inside)


def kernel_weights(query: np.ndarray, keys: np.ndarray, h: float, name: str = "gaussian") -> np.ndarray:
    """Each key's share of the kernel at each query, (query, key): rows sum to 1, and are NaN where no key is within
    reach (0/0).

    Distances are Euclidean. The largest logarithm of a row is subtracted before exp, so that no bandwidth is too small.
    """
    distance = np.linalg.norm(query[:, None] - keys[None], axis=-1)
    logs = log_kernel(distance / h, name)
    with np.errstate(invalid="ignore"):
        raised = np.exp(logs - logs.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)


def nearest_weights(query: np.ndarray, keys: np.ndarray, k: int) -> np.ndarray:
    """1/k for each of the k keys nearest to each query and 0 for all others, (query, key); of equally near ones the
    first count (Cover and Hart 1967; here for regression)."""
    distance = np.linalg.norm(query[:, None] - keys[None], axis=-1)
    weights = np.zeros(distance.shape)
    np.put_along_axis(weights, np.argsort(distance, axis=-1, kind="stable")[:, :k], 1 / k, axis=-1)
    return weights


def dot_product_weights(query: np.ndarray, keys: np.ndarray, temperature: float,
                        bias: np.ndarray | None = None) -> np.ndarray:
    """softmax((q · k + bias) / T), (query, key), by equation (1) of the Transformer: the function that draws every
    head. bias: one number a key."""
    import torch

    from model.core import attention

    scores = attention.scores(torch.tensor(query), torch.tensor(keys), scale=1.0,
                              bias=None if bias is None else torch.tensor(bias))
    return attention.softmax(scores, temperature=temperature).numpy()


def length_bias(keys: np.ndarray) -> np.ndarray:
    """−|k|²/2 of each key (key): what the Gaussian kernel has and the dot product has not, as −|q − k|²/2 = q · k −
    |k|²/2 − |q|²/2."""
    return -(keys**2).sum(-1) / 2


def lift(x: np.ndarray, how: str) -> np.ndarray:
    """Places on the line as vectors (key, d). line: as they are, d = 1. circle: (cos x, sin x), so that all have length
    1."""
    x = np.asarray(x, np.float64)
    return x[:, None] if how == "line" else np.stack([np.cos(x), np.sin(x)], -1)


def leave_one_out(keys: np.ndarray, values: np.ndarray, h: float, name: str) -> float:
    """Mean squared error of each point's value, estimated from all others; NaN where a point has nobody within
    reach."""
    errors = []
    for place, value in enumerate(values):
        others = np.arange(len(values)) != place
        weights = kernel_weights(keys[place:place + 1], keys[others], h, name)[0]
        errors.append((weights @ values[others] - value) ** 2)
    return float(np.mean(errors))


def total_variation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Total variation ½ Σ |w − w'| between two rows of weights (..., key): the share of the weight that lies elsewhere,
    0 to 1."""
    return np.abs(one - other).sum(-1) / 2
