"""Kernel regression, which uses the same arithmetic as attention.

In Nadaraya 1964 and Watson 1964, the estimate at x is the average of all values y_i, weighted by the proximity of x_i:
ŷ(x) = Σ K((x − x_i)/h) y_i / Σ K((x − x_i)/h). This is attention with queries x, keys x_i and values y_i. Queries are
(query, d), keys (key, d) and values (key), all float64. The bandwidth h is in units of x.
"""
import numpy as np

from clearhead.model.core import attention

KERNELS = ("gaussian", "epanechnikov", "triangular", "boxcar")
LIFTS = ("line", "circle")


def log_kernel(u: np.ndarray, name: str) -> np.ndarray:
    """Return ln K(u) for a distance u in bandwidths, up to an additive constant; −∞ where the kernel is 0."""
    inside = np.abs(u) < 1
    if name == "gaussian":
        return -(u**2) / 2
    if name == "boxcar":
        return np.where(inside, 0.0, -np.inf)
    height = 1 - (u**2 if name == "epanechnikov" else np.abs(u))
    return np.log(height, out=np.full(u.shape, -np.inf), where=inside)


def kernel_weights(query: np.ndarray, keys: np.ndarray, h: float, name: str = "gaussian") -> np.ndarray:
    """Return the normalised kernel weights of all keys for each query, (query, key). Rows sum to 1, or are NaN (0/0) if
    no key is within reach.

    Distances are Euclidean. The largest logarithm of a row is subtracted before exp, which makes any bandwidth safe.
    """
    distance = np.linalg.norm(query[:, None] - keys[None], axis=-1)
    with np.errstate(invalid="ignore"):
        return attention.softmax(log_kernel(distance / h, name))


def nearest_weights(query: np.ndarray, keys: np.ndarray, k: int) -> np.ndarray:
    """Return weights of 1/k for the k keys nearest to each query and 0 for the others, (query, key). The first key wins
    a tie (Cover & Hart 1967, here for regression)."""
    distance = np.linalg.norm(query[:, None] - keys[None], axis=-1)
    weights = np.zeros(distance.shape)
    np.put_along_axis(weights, np.argsort(distance, axis=-1, kind="stable")[:, :k], 1 / k, axis=-1)
    return weights


def leave_one_out(keys: np.ndarray, values: np.ndarray, h: float, name: str) -> float:
    """Return the mean squared error of estimating each point's value from all others; NaN if a point has no other
    within reach."""
    others = [np.delete(np.arange(len(keys)), place) for place in range(len(keys))]
    guesses = [kernel_weights(keys[[place]], keys[rest], h, name)[0] @ values[rest]
               for place, rest in enumerate(others)]
    return float(((guesses - values) ** 2).mean())


def dot_product_weights(query: np.ndarray, keys: np.ndarray, temperature: float,
                        bias: np.ndarray | None = None) -> np.ndarray:
    """Return softmax((q · k + bias) / T), (query, key), with the same function as for the Transformer. bias: one number
    per key."""
    return attention.softmax(attention.scores(query, keys, scale=1.0, bias=bias), temperature=temperature)


def length_bias(keys: np.ndarray) -> np.ndarray:
    """Return −|k|²/2 for each key (key). This term distinguishes the Gaussian kernel from the dot product:
    −|q − k|²/2 = q · k − |k|²/2 − |q|²/2."""
    return -(keys**2).sum(-1) / 2


def lift(x: np.ndarray, how: str) -> np.ndarray:
    """Map points on the line to vectors (key, d). "line": unchanged, d = 1. "circle": (cos x, sin x), of length 1."""
    x = np.asarray(x, np.float64)
    return x[:, None] if how == "line" else np.stack([np.cos(x), np.sin(x)], -1)


TRAINED = 12   # maximum length of the copiers' training texts
LENGTHS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24)


HEIGHT, WIDTH = 7, 5
GLYPHS = {   # rows of pixels from top to bottom; "#" is +1
    "0": ".###. #...# #..## #.#.# ##..# #...# .###.", "1": "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    "2": ".###. #...# ....# ..##. .#... #.... #####", "3": ".###. #...# ....# ..##. ....# #...# .###.",
    "4": "...#. ..##. .#.#. #..#. ##### ...#. ...#.", "5": "##### #.... ####. ....# ....# #...# .###.",
    "6": "..##. .#... #.... ####. #...# #...# .###.", "7": "##### ....# ...#. ..#.. .#... .#... .#...",
    "A": ".###. #...# #...# ##### #...# #...# #...#", "B": "####. #...# #...# ####. #...# #...# ####.",
    "C": ".###. #...# #.... #.... #.... #...# .###.", "D": "####. #...# #...# #...# #...# #...# ####.",
    "E": "##### #.... #.... ####. #.... #.... #####", "F": "##### #.... #.... ####. #.... #.... #....",
    "G": ".###. #...# #.... #.### #...# #...# .###.", "H": "#...# #...# #...# ##### #...# #...# #...#"}
KEYS, VALUES = "01234567", "ABCDEFGH"


def stored_pairs(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys and values of the first stored pairs, float64 (pair, 35) each, with pixels row by row."""
    keys, values = (np.array([[1.0 if pixel == "#" else -1.0 for pixel in GLYPHS[name].replace(" ", "")]
                              for name in names[:pairs]]) for names in (KEYS, VALUES))
    return keys, values


def damage(key: np.ndarray, share: float, seed: int, count: int = 1) -> np.ndarray:
    """Return `count` copies of the key, with each pixel flipped with probability `share`, (count, 35). With the same
    seed, a larger share flips the same pixels and others."""
    turned = np.random.default_rng(seed).random((count, len(key))) < share
    return np.where(turned, -key, key)


def recall(query: np.ndarray, keys: np.ndarray, values: np.ndarray,
           temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the recalled patterns (query, 35), with pixels between −1 and 1, and the weights (query, pair)."""
    return attention.attention(query, keys, values, scale=1.0, temperature=temperature)


def best_temperature(share: float) -> float:
    """Return the temperature T = 2 / ln((1 − p)/p), at which the weights are the posterior probabilities of the stored
    keys given the damaged key.

    A key that agrees with the query in a of n pixels has the likelihood (1 − p)^a p^(n−a), and q · k = 2a − n. For
    equally likely keys, Bayes' rule is therefore this softmax. The posterior mean has the lowest possible squared
    error.
    """
    return 2 / np.log((1 - share) / share)


def errors(keys: np.ndarray, values: np.ndarray, share: float, temperatures: np.ndarray,
           draws: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squared error per recalled pixel and the mean weight on the correct pair, (temperature) each,
    over `draws` damaged copies of every key."""
    queries = np.concatenate([damage(key, share, seed, draws) for seed, key in enumerate(keys)])
    right = np.repeat(np.arange(len(keys)), draws)
    squared, on_right = [], []
    for temperature in temperatures:
        mixed, weights = recall(queries, keys, values, float(temperature))
        squared.append(((mixed - values[right]) ** 2).mean())
        on_right.append(weights[np.arange(len(right)), right].mean())
    return np.array(squared), np.array(on_right)
