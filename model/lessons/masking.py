"""Mask one small attention matrix in four ways: with −∞ or a large negative number before the softmax, or by zeroing
after the softmax with or without renormalisation.

Scores are float64 (query, key) and masks bool (query, key), True where allowed.
"""

import numpy as np

from clearhead.model.core import attention, heads
from clearhead.model.core.query import HeadId, frozen
from clearhead.model.core.record import AttentionMap

METHODS = ("before", "finite", "after", "renormalised")
LARGE = -1e9      # replaces −∞ in much code, such as The Annotated Transformer's masked_fill(mask == 0, -1e9)


def toy_scores(n: int, seed: int) -> np.ndarray:
    """Return scores 1.5 q · k / √d_k of n random queries and keys, d_k = 16, float64 (query, key), determined by the
    seed."""
    rng, d_k = np.random.default_rng([seed, n]), 16
    return rng.standard_normal((n, d_k)) @ rng.standard_normal((d_k, n)) / d_k**0.5 * 1.5


def padding_mask(n: int, padded: int) -> np.ndarray:
    """Mask the last `padded` tokens as keys, bool (query, key). Their own rows are not masked, because their outputs
    are discarded."""
    return np.broadcast_to(np.arange(n) < n - padded, (n, n)).copy()


def look_ahead_mask(n: int) -> np.ndarray:
    """Return the causal mask, bool (query, key), which lets each token attend to itself and to earlier ones (Vaswani et
    al. 2017, section 3.2.3)."""
    return np.tril(np.ones((n, n), bool))


def masked_weights(scores: np.ndarray, allowed: np.ndarray, method: str) -> np.ndarray:
    """Compute the weights, float64 (query, key), with one of METHODS.

    before: set masked scores to −∞, then apply the softmax; fully masked rows are NaN (0/0). finite: the same with
    LARGE instead of −∞. after: apply the softmax, then set masked weights to 0. renormalised: the same, then divide
    each row by its sum.
    """
    with np.errstate(invalid="ignore"):
        if method == "before":
            return attention.softmax(scores, allowed)
        if method == "finite":
            return attention.softmax(np.where(allowed, scores, LARGE))
        zeroed = attention.softmax(scores) * allowed
        return zeroed if method == "after" else zeroed / zeroed.sum(-1, keepdims=True)


def leak(scores: np.ndarray, allowed: np.ndarray, row: int, moved: np.ndarray, method: str) -> np.ndarray:
    """Return a row's weights on allowed keys (moved, key) after adding each number in `moved` to its first masked
    score."""
    rows = np.repeat(scores[row][None], len(moved), axis=0)
    rows[:, np.flatnonzero(~allowed[row])[0]] += moved
    return masked_weights(rows, np.repeat(allowed[row][None], len(moved), axis=0), method)[:, allowed[row]]


def blind_row(n: int) -> dict[str, str]:
    """Describe the result for a fully masked row with each method and with torch's two functions."""
    import torch

    scores, nothing = toy_scores(n, 0), np.zeros((n, n), bool)
    rows = {method: _in_words(masked_weights(scores, nothing, method)[0]) for method in METHODS}
    values = torch.ones(1, n, 2, dtype=torch.float64)
    mixed = torch.nn.functional.scaled_dot_product_attention(values, values, values,
                                                             attn_mask=torch.from_numpy(nothing)[None])
    rows["torch.softmax"] = _in_words(torch.softmax(torch.full((n,), -torch.inf), 0).numpy())
    rows["scaled_dot_product_attention"] = _in_words(mixed[0, 0].numpy())
    return rows


def _in_words(row: np.ndarray) -> str:
    if np.isnan(row).any():
        return "NaN"
    if not row.any():
        return "0"
    return f"uniform, 1/{len(row)} each" if np.allclose(row, 1 / len(row)) else f"sums to {row.sum():.3g}"


NAMES = ("full", "window", "dilated", "global", "random", "bigbird")


@frozen
class PatternShape:
    """The parameters of the patterns."""

    window: int = 2     # number of keys on each side
    dilation: int = 2   # step between attended tokens
    tokens: int = 1     # number of global tokens at the start
    random: int = 2     # number of random keys per row
    seed: int = 0       # seed of the random keys


def distance(n: int) -> np.ndarray:
    """Return |i − j|, int (query, key)."""
    places = np.arange(n)
    return np.abs(places[:, None] - places)


def window(n: int, shape: PatternShape) -> np.ndarray:
    """Allow each token to attend to itself and to `window` tokens on each side."""
    return distance(n) <= shape.window


def dilated_window(n: int, shape: PatternShape) -> np.ndarray:
    """Allow the same number of tokens as `window`, but only every `dilation`-th one, which extends the reach at the
    same cost."""
    return (distance(n) <= shape.window * shape.dilation) & (distance(n) % shape.dilation == 0)


def global_tokens(n: int, shape: PatternShape) -> np.ndarray:
    """Allow the first `tokens` tokens to attend to all others, and all others to attend to them."""
    first = np.arange(n) < shape.tokens
    return first[:, None] | first[None, :] | np.eye(n, dtype=bool)


def random_keys(n: int, shape: PatternShape) -> np.ndarray:
    """Allow each token to attend to itself and to `random` random tokens, determined by the seed."""
    allowed = np.eye(n, dtype=bool)
    for row in range(n):
        allowed[row, np.random.default_rng([shape.seed, row, n]).choice(n, min(shape.random, n), replace=False)] = True
    return allowed


def pattern(name: str, n: int, shape: PatternShape, causal: bool = False) -> np.ndarray:
    """Return the mask of a pattern in NAMES for n tokens, bool (query, key). causal: also mask later tokens."""
    parts = {"full": lambda: np.ones((n, n), bool), "window": lambda: window(n, shape),
             "dilated": lambda: dilated_window(n, shape),
             "global": lambda: window(n, shape) | global_tokens(n, shape), "random": lambda: random_keys(n, shape),
             "bigbird": lambda: window(n, shape) | global_tokens(n, shape) | random_keys(n, shape)}
    return np.tril(parts[name]()) if causal else parts[name]()


def reach(allowed: np.ndarray, causal: bool = False) -> np.ndarray:
    """Return the share of pairs (query, key) that are connected after 1, 2, … layers, until it stops growing. The last
    one is 1 if every token reaches every other.

    causal: only count keys that do not follow the query. Row i of the mask's L-th Boolean power contains the tokens
    that token i reaches in L layers.
    """
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
    """Return the number of layers after which every token reaches every other, or None if it never does."""
    return len(shares) if shares[-1] == 1 else None


def lost_weight(attention_map: AttentionMap, allowed: np.ndarray) -> dict[HeadId, float]:
    """Return {(layer, head): share of the head's weight outside the pattern}, averaged over the text's queries."""
    lost: dict[HeadId, float] = {}
    for layer in attention_map.layers:
        inside, total = np.zeros((2, layer.heads))
        for rows, keys, block in heads.weight_blocks(layer):
            inside += (block * allowed[rows, keys]).sum((1, 2), dtype=np.float64)
            total += block.sum((1, 2), dtype=np.float64)
        lost.update({(layer.index, head): float(share) for head, share in enumerate(1 - inside / total)})
    return lost
