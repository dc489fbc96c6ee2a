"""Masks on one small attention matrix: −∞ before the softmax, a large negative number instead, zeroing after it, and
zeroing with renormalising.

Scores are float64 (query, key), allowed is bool (query, key). Rows are queries.
"""
import numpy as np

METHODS = ("before", "finite", "after", "renormalised")
LARGE = -1e9      # what stands for −∞ in much code (The Annotated Transformer's masked_fill(mask == 0, -1e9))


def toy_scores(n: int, seed: int, d_k: int = 16) -> np.ndarray:
    """Scores q · k / √d_k of n random queries and keys, float64 (query, key), always the same for the same seed."""
    rng = np.random.default_rng([seed, n])
    return rng.standard_normal((n, d_k)) @ rng.standard_normal((d_k, n)) / d_k**0.5 * 1.5


def padding_mask(n: int, padded: int) -> np.ndarray:
    """Nobody may look at the last `padded` tokens, bool (query, key). Their own rows stay open: what they compute is
    thrown away."""
    return np.broadcast_to(np.arange(n) < n - padded, (n, n)).copy()


def look_ahead_mask(n: int) -> np.ndarray:
    """A token may look at itself and at what stands before it (Vaswani et al. 2017, section 3.2.3), bool (query,
    key)."""
    return np.tril(np.ones((n, n), bool))


def masked_weights(scores: np.ndarray, allowed: np.ndarray, method: str) -> np.ndarray:
    """The weights, float64 (query, key), by one of METHODS.

    before: −∞ on forbidden scores, then softmax; a row without any allowed key is 0/0, NaN. finite: LARGE instead of
    −∞. after: softmax over everything, then 0 where forbidden. renormalised: the same, and each row divided by its sum.
    """
    import torch

    from model.core import attention

    logits, may = torch.from_numpy(np.array(scores, np.float64)), torch.from_numpy(np.array(allowed))
    if method == "before":
        return attention.softmax(logits, may).numpy()
    if method == "finite":
        return attention.softmax(logits.masked_fill(~may, LARGE)).numpy()
    zeroed = attention.softmax(logits) * may
    if method == "after":
        return zeroed.numpy()
    return (zeroed / zeroed.sum(-1, keepdim=True)).numpy()


def leak(scores: np.ndarray, allowed: np.ndarray, row: int, moved: np.ndarray, method: str) -> np.ndarray | None:
    """How the weights that a row may see (moved, key) answer when its first forbidden score is moved by each number of
    `moved`.

    None if the row has nothing forbidden or nothing allowed.
    """
    forbidden = np.flatnonzero(~allowed[row])
    if not len(forbidden) or not allowed[row].any():
        return None
    rows = np.repeat(scores[row][None], len(moved), axis=0)
    rows[:, forbidden[0]] += moved
    return masked_weights(rows, np.repeat(allowed[row][None], len(moved), axis=0), method)[:, allowed[row]]


def blind_row(n: int) -> dict[str, str]:
    """What a row that may look at nothing becomes, by each method and by torch's own two functions, as words."""
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
