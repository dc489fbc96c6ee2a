r"""How far is one distribution from another? Cross-entropy and divergence of two, and the targets that label smoothing
makes.

Distributions are float64 (..., word) that sum to 1; everything is in nats. H(P, Q) = H(P) + D_KL(P‖Q): Shannon 1948,
Kullback and Leibler 1951. """
import math

import numpy as np

from model.core.statistics import entropy

DEFINITIONS = ("all", "others")   # where label smoothing puts ε: on all K words, or on the K − 1 others


def cross_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """−Σ p ln q in nats (...), with 0 ln q = 0: the loss of a model that says q where p is true.

    Infinite where q calls impossible what p calls possible.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(q, np.float64))
    return -np.multiply(p, logs, out=np.zeros(np.broadcast_shapes(np.shape(p), np.shape(q))),
                        where=np.asarray(p) > 0).sum(-1)


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """D_KL(P‖Q) = Σ p ln(p / q) in nats (...), at least 0, and 0 only where both are equal; not symmetric, so no
    distance."""
    return np.maximum(cross_entropy(p, q) - entropy(np.asarray(p, np.float64), base=math.e), 0.0)


def smoothed_target(right: int, words: int, epsilon: float, definition: str) -> np.ndarray:
    """The target when word `right` of `words` is true, float64 (word).

    "all": (1 − ε) on the right word and ε / K on every word, itself included (Szegedy et al. 2016, section 7; torch's
    label_smoothing). "others": 1 − ε on the right word and ε / (K − 1) on each of the others (tensor2tensor, the code
    of the paper). """
    target = np.full(words, epsilon / words if definition == "all" else epsilon / (words - 1))
    target[right] = 1 - epsilon + (epsilon / words if definition == "all" else 0)
    return target


def peak(words: int, epsilon: float, definition: str) -> float:
    """The share of the right word in the smoothed target: where the loss is least, in closed form."""
    return 1 - epsilon + (epsilon / words if definition == "all" else 0.0)


def smooth_loss(share: np.ndarray | float, words: int, epsilon: float, definition: str) -> np.ndarray:
    """The smoothed loss in nats (...) of a model that gives `share` to the right word and spreads the rest evenly over
    the others."""
    top = peak(words, epsilon, definition)
    share = np.asarray(share, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.log((1 - share) / (words - 1))
        return -top * np.log(share) - (0 if top == 1 else (1 - top) * rest)


def floor(words: int, epsilon: float, definition: str) -> float:
    """The least loss that any model can reach, in nats: the entropy of the smoothed target, −q ln q − (1 − q) ln((1 −
    q) / (K − 1))."""
    return float(smooth_loss(peak(words, epsilon, definition), words, epsilon, definition))


def gap(words: int, epsilon: float, definition: str) -> float:
    """How far the right word's logit stands above the others at that least loss; infinite without smoothing."""
    top = peak(words, epsilon, definition)
    return float(np.log(top * (words - 1) / (1 - top))) if top < 1 else float("inf")
