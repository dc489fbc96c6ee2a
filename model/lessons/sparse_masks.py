"""Sparse patterns: who may look where when n² is too much. Each is bool (query, key); rows are queries.

Sliding window, dilated window and global tokens: Beltagy et al. 2020 (Longformer), section 3.1. Random keys, and all
three together: Zaheer et al. 2020 (BigBird), section 2; there in blocks of tokens, here token by token. """
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.query import Kind
from model.core.record import AttentionMap
from model.core.types import HeadId

NAMES = ("full", "window", "dilated", "global", "random", "bigbird")


@dataclass(frozen=True)
class Shape:
    """The numbers that the patterns take."""

    window: int = 2     # keys on each side
    dilation: int = 2   # every how many tokens one of them stands
    tokens: int = 1     # how many first tokens are global
    random: int = 2     # random keys a row
    seed: int = 0       # of the random keys


def distance(n: int) -> np.ndarray:
    """|i − j|, int (query, key)."""
    places = np.arange(n)
    return np.abs(places[:, None] - places)


def window(n: int, shape: Shape) -> np.ndarray:
    """`window` tokens to each side, and itself."""
    return distance(n) <= shape.window


def dilated_window(n: int, shape: Shape) -> np.ndarray:
    """As many, but only every `dilation`-th token: a longer reach for the same cost."""
    return (distance(n) <= shape.window * shape.dilation) & (distance(n) % shape.dilation == 0)


def global_tokens(n: int, shape: Shape) -> np.ndarray:
    """The first `tokens` tokens look at all and are looked at by all."""
    first = np.arange(n) < shape.tokens
    return first[:, None] | first[None, :] | np.eye(n, dtype=bool)


def random_keys(n: int, shape: Shape) -> np.ndarray:
    """Each token looks at itself and at `random` tokens drawn for it; always the same ones for the same seed."""
    allowed = np.eye(n, dtype=bool)
    for row in range(n):
        allowed[row, np.random.default_rng([shape.seed, row, n]).choice(n, min(shape.random, n), replace=False)] = True
    return allowed


def pattern(name: str, n: int, shape: Shape, causal: bool = False) -> np.ndarray:
    """One of NAMES for n tokens; with `causal`, nobody looks ahead as well."""
    parts = {"full": lambda: np.ones((n, n), bool), "window": lambda: window(n, shape),
             "dilated": lambda: dilated_window(n, shape),
             "global": lambda: window(n, shape) | global_tokens(n, shape), "random": lambda: random_keys(n, shape),
             "bigbird": lambda: window(n, shape) | global_tokens(n, shape) | random_keys(n, shape)}
    return np.tril(parts[name]()) if causal else parts[name]()


def computed_share(allowed: np.ndarray) -> float:
    """The share of n² that is computed."""
    return float(allowed.mean())


def reach(allowed: np.ndarray, causal: bool = False) -> np.ndarray:
    """Share of the pairs (query, key) that are connected after 1, 2, … layers, until no more are; 1 at the end if every
    token reaches every other.

    With `causal` only pairs with the key before the query count. What a token has seen after L layers is row i of the
    L-th Boolean power. """
    wanted = np.tril(np.ones_like(allowed)) if causal else np.ones_like(allowed)
    seen, step, shares = allowed.copy(), allowed.astype(np.float32), [float((allowed & wanted).sum() / wanted.sum())]
    while shares[-1] < 1:
        further = (seen.astype(np.float32) @ step) > 0
        if (further == seen).all():
            break
        seen = further
        shares.append(float((seen & wanted).sum() / wanted.sum()))
    return np.array(shares)


def layers_needed(shares: np.ndarray) -> int | None:
    """After how many layers every token can reach every other; None if never."""
    return len(shares) if shares[-1] == 1 else None


def lost_weight(attention_map: AttentionMap, allowed: np.ndarray) -> dict[HeadId, float]:
    """{(layer, head): share of the head's weight that lies outside the pattern}, the mean over the text's queries."""
    lost: dict[HeadId, float] = {}
    for layer in attention_map.layers:
        inside = np.zeros(layer.heads)
        total = np.zeros(layer.heads)
        for rows, keys, block in heads.weight_blocks(layer):
            inside += (block * allowed[rows, keys]).sum((1, 2), dtype=np.float64)
            total += block.sum((1, 2), dtype=np.float64)
        lost.update({(layer.index, head): float(1 - inside[head] / total[head]) for head in range(layer.heads)})
    return lost


def applies_to(attention_map: AttentionMap) -> bool:
    """Whether a pattern of tokens means anything here: queries and keys are the same text."""
    return attention_map.kind is not Kind.CROSS
