"""Scaling laws as they were published: their constants are quoted, nothing is fitted here.

Kaplan et al. 2020, arXiv:2001.08361, appendix A; Hoffmann et al. 2022, arXiv:2203.15556, approach 3 (equation 10);
Besiroglu et al. 2024, arXiv:2404.10102, who fitted the same runs again. """
from dataclasses import dataclass

import numpy as np

PER_TOKEN = 6                       # floating-point operations of a training per parameter and token, about
PETAFLOP_DAY = 1e15 * 24 * 3600     # floating-point operations


@dataclass(frozen=True)
class Law:
    """loss(N, D) = E + A / N^α + B / D^β, nats per token; N parameters, D tokens."""

    floor: float     # E
    a: float         # A
    b: float         # B
    alpha: float     # α
    beta: float      # β

    def loss(self, parameters: np.ndarray | float, tokens: np.ndarray | float) -> np.ndarray:
        """Nats per token."""
        return self.floor + self.a / np.asarray(parameters)**self.alpha + self.b / np.asarray(tokens)**self.beta

    def best(self, compute: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """(parameters, tokens) of the smallest loss with 6 N D = compute, in closed form."""
        pairs = np.asarray(compute, np.float64) / PER_TOKEN
        ratio = (self.alpha * self.a / (self.beta * self.b)) ** (1 / (self.alpha + self.beta))
        parameters = ratio * pairs ** (self.beta / (self.alpha + self.beta))
        return parameters, pairs / parameters


HOFFMANN = Law(1.69, 406.4, 410.7, 0.34, 0.28)
BESIROGLU = Law(1.8172, 482.01, 2085.43, 0.3478, 0.3658)
CHINCHILLA = (70e9, 1.4e12)         # parameters and tokens that the model was given


def kaplan(compute: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """(parameters without embeddings, tokens) that Kaplan et al. advise: N = 1.3e9 · C^0.73, with C in petaflop-days;
    tokens from 6 N D = C."""
    parameters = 1.3e9 * (np.asarray(compute, np.float64) / PETAFLOP_DAY) ** 0.73
    return parameters, np.asarray(compute) / PER_TOKEN / parameters
