"""A head that is chosen among many and judged on texts that it was not chosen on, and what luck would make of it."""
from dataclasses import replace

import numpy as np

from model.core import heads
from model.core.record import AttentionMap
from model.core.statistics import LEVEL, SEED, mean_intervals
from model.core.types import HeadId
from model.studies.claims.claim import Finding, finding
from model.studies.claims.definitions import LUCKY_DRAWS


def held_out(values: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """Each text's value with the head that is best on the other half (even and odd texts), float64 (text), and the two
    heads: that of the even texts and that of the odd ones. values: (text, head)."""
    even = np.arange(len(values)) % 2 == 0
    chosen = int(values[even].mean(0).argmax()), int(values[~even].mean(0).argmax())
    return np.where(even, values[:, chosen[1]], values[:, chosen[0]]), chosen


def best_head_finding(name: str, values: np.ndarray, baseline: float, lucky: np.ndarray, ids: tuple[HeadId, ...],
                      counted: str = "texts") -> Finding:
    """The share (text, head) that the best head reaches on other texts. lucky: float64 (draw, head), the means of heads
    that know nothing."""
    scored, chosen = held_out(values)
    found = finding(name, mean_intervals(scored[:, None])[0], baseline, counted, "share")
    return replace(found, best=float(values.mean(0).max()), luck=float(np.quantile(lucky.max(1), LEVEL)),
                   heads=tuple(ids[number] for number in chosen))


def shuffled(attention_map: AttentionMap, rows: np.ndarray, number: int) -> np.ndarray:
    """The mean weight that each head gives, in these rows, to a key drawn at random among those the row may look at,
    float64 (LUCKY_DRAWS, head): what a head gives to any one place if its rows are put in random order. number: of the
    text, for the draws."""
    rng, means = np.random.default_rng([SEED, number]), []
    for layer in attention_map.layers:
        weights = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
        allowed = layer.allowed.block(slice(0, layer.shape[1]), slice(0, layer.shape[2]))
        allowed = np.asarray(allowed if allowed.ndim == 2 else np.any(allowed, axis=0))[rows]
        order = np.argsort(~allowed, axis=1, kind="stable")   # the allowed keys of each row come first
        places = (rng.random((LUCKY_DRAWS, len(rows))) * allowed.sum(1)).astype(int)
        keys = order[np.arange(len(rows)), places]
        means.append(weights[:, rows, keys].mean(-1).T)
    return np.concatenate(means, axis=1).astype(np.float64)
