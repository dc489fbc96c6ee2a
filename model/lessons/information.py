r"""What heads tell and what they share, in bits: entropy, mutual information between query and attended position,
divergence between heads.

A head's rows are distributions w_i over keys, float (query, key); with every query as likely as any other they are a
joint distribution of query and attended position. Mutual information is then I = H(mean row) − mean H(row) (Cover &
Thomas 2006, chapter 2). Jensen–Shannon divergence: Lin 1991; its root is a metric: Endres & Schindelin 2003. Between
the heads of a model: Clark et al. 2019, section 6. """
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.displayed import MAX_UNPOOLED
from model.core.models import Models
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionMap, Layer, Reported
from model.core.statistics import entropy
from model.core.types import HeadId, Progress

# numbers that the comparison of all pairs of heads of one text goes through at most; rows are left out evenly to keep
# it
BUDGET = 4e8
LONGEST = MAX_UNPOOLED           # tokens of a text: every head's whole matrix is looked at
TOYS = ("uniform", "causal", "first", "itself", "previous")


@dataclass(frozen=True)
class InformationQuery:
    """What the heads of one kind tell on one text."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> "Information":
        """The measures of the query's record. Raises UserError for a text that is too long."""
        return measure_text(models.record(self.query, report)[self.kind], report)


@dataclass(frozen=True, eq=False)
class Information:
    """Measures of the heads of one kind, float64, one number a head."""

    places: tuple[HeadId, ...]      # (layer, head), in the order of the arrays
    values: dict[str, np.ndarray]   # entropy: mean H(row); mutual: I; distance: mean |i − j|, NaN across two texts
    blank: dict[str, np.ndarray]    # the same of equal weights under each layer's mask
    divergence: np.ndarray          # mean Jensen–Shannon divergence, 0 to 1, (head, head)
    tokens: float                   # of the text, or their mean over texts
    texts: int = 1                  # how many it is the mean over

    @property
    def nbytes(self) -> int:
        """About the bytes of the arrays."""
        return self.divergence.nbytes + 100 * len(self.places)


def mutual(weights: np.ndarray) -> np.ndarray:
    """I between query and attended position of matrices (..., query, key), in bits: H of the mean row minus the mean H
    of the rows."""
    return np.maximum(entropy(weights.mean(-2), base=2) - entropy(weights, base=2).mean(-1), 0)


def toy(name: str, n: int, sharpness: float = 1.0) -> np.ndarray:
    """A head of n tokens that does one thing, (query, key): share `sharpness` of it, the rest spread evenly over what
    it may see."""
    full, causal = np.full((n, n), 1 / n), np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    if name in ("uniform", "causal"):
        return full if name == "uniform" else causal
    target = {"first": np.zeros(n, int), "itself": np.arange(n), "previous": np.maximum(0, np.arange(n) - 1)}[name]
    return sharpness * np.eye(n)[target] + (1 - sharpness) * full


def measure_text(attention_map: AttentionMap, report: Progress) -> Information:
    """Everything on one text. A layer's sink is one more thing to attend to, so that rows always sum to 1."""
    shape = len(attention_map.queries), len(attention_map.keys)
    if max(shape) > LONGEST:
        raise UserError(f"The text has {max(shape):,} tokens, and heads are compared on at most {LONGEST:,}; shorten "
                        f"it.")
    apart = np.abs(np.arange(shape[0])[:, None] - np.arange(shape[1])).astype(float)
    compared = _rows(sum(layer.heads for layer in attention_map.layers), *shape)
    values: dict[str, list[float]] = {name: [] for name in ("entropy", "mutual", "distance")}
    blank: dict[str, list[float]] = {name: [] for name in values}
    places, sampled = [], []
    for number, layer in enumerate(attention_map.layers):
        report(0.3 * number / len(attention_map.layers), f"{shape[0]} tokens: layer {layer.index}")
        for head in range(layer.heads):
            weights = _whole(layer, head)
            for target, rows in ((values, weights), (blank, _even(layer, head, shape))):
                target["entropy"].append(entropy(rows, base=2).mean())
                target["mutual"].append(float(mutual(rows)))
                target["distance"].append(np.nan if attention_map.kind is Kind.CROSS
                                          else (rows[:, :shape[1]] * apart).sum(1).mean())
            places.append((layer.index, head))
            sampled.append(np.pad(weights[compared], ((0, 0), (0, 1 + shape[1] - weights.shape[1]))).astype(np.float32))
    return Information(tuple(places), {name: np.array(value) for name, value in values.items()},
                       {name: np.array(each) for name, each in blank.items()},
                       divergences(np.stack(sampled), report), shape[0])


def _rows(n_heads: int, queries: int, keys: int) -> np.ndarray:
    """The queries whose rows are compared: all, or as many as BUDGET allows, evenly spaced."""
    wanted = max(1, min(queries, int(BUDGET / (n_heads**2 / 2 * (keys + 1)))))
    return np.unique(np.linspace(0, queries - 1, wanted).round().astype(int))


def _whole(layer: Layer | Reported, head: int) -> np.ndarray:
    """The head's rows in float64, each summing to 1: a sink's share is the last column."""
    weights = heads.weights(layer, head).astype(np.float64)
    rest = 1 - weights.sum(1, keepdims=True)
    return np.hstack([weights, np.maximum(rest, 0)]) if rest.max() > 1e-3 else weights / weights.sum(1, keepdims=True)


def _even(layer: Layer | Reported, head: int, shape: tuple[int, int]) -> np.ndarray:
    """Equal weights on whatever the head's mask lets each query see."""
    allowed = layer.allowed.block(slice(0, shape[0]), slice(0, shape[1]))
    allowed = (allowed[head] if allowed.ndim == 3 else allowed).astype(float)
    return allowed / np.maximum(allowed.sum(1, keepdims=True), 1)


def divergences(weights: np.ndarray, report: Progress) -> np.ndarray:
    """Mean Jensen–Shannon divergence of the rows of every two heads, float64 (head, head), in bits, from weights (head,
    row, key) that sum to 1.

    H of the middle of two rows minus the middle of their H.
    """
    own = entropy(weights, base=2).mean(-1, dtype=np.float64)
    divergence = np.zeros((len(weights), len(weights)))
    for place in range(len(weights) - 1):
        report(0.3 + 0.7 * place / len(weights), f"head {place} of {len(weights)} with all others")
        middle = entropy((weights[place + 1:] + weights[place]) / 2, base=2).mean(-1, dtype=np.float64)
        divergence[place, place + 1:] = middle - (own[place + 1:] + own[place]) / 2
    return np.clip(divergence + divergence.T, 0, 1)


def mean_over_texts(texts: Sequence[Information]) -> Information:
    """The mean over texts of one model, each text counting alike."""
    first = texts[0]

    def mean(field: str) -> dict[str, np.ndarray]:
        return {name: np.mean([getattr(text, field)[name] for text in texts], axis=0) for name in first.values}

    return Information(first.places, mean("values"), mean("blank"),
                       np.mean([text.divergence for text in texts], axis=0),
                       float(np.mean([text.tokens for text in texts])), len(texts))


def within_and_between(measured: Information, distances: np.ndarray) -> tuple[float, float]:
    """Mean distance (head, head) of two heads of the same layer, and of two layers; NaN where there is no such pair."""
    layers = np.array([layer for layer, _ in measured.places])
    above = np.triu(np.ones_like(distances, bool), 1)
    same = layers[:, None] == layers
    mean = lambda chosen: float(distances[chosen].mean()) if chosen.any() else np.nan
    return mean(above & same), mean(above & ~same)


@dataclass(frozen=True, eq=False)
class Bound:
    """I(X;Y) of a joint distribution, and what a model q(y|x) shows of it: H(Y) − its cross-entropy, for every `share`
    that it has learnt."""

    information: float
    entropy: float
    cross_entropy: np.ndarray


def bound(strength: float, shares: np.ndarray, size: int = 6, seed: int = 0) -> Bound:
    """A random joint p(x, y); the model is q ∝ p(y)^(1−s) p(y|x)^s: at s = 0 it knows how often each y comes, at s = 1
    everything; beyond, too sure.

    −E log₂ q(y|x) is the cross-entropy; I(X;Y) ≥ H(Y) − cross-entropy, with equality for q = p (Barber & Agakov 2003).
    """
    scores = strength * np.random.default_rng(seed).standard_normal((size, size))
    joint = np.exp(scores - scores.max())
    joint /= joint.sum()
    given, alone = joint / joint.sum(1, keepdims=True), joint.sum(0)
    model = alone ** (1 - shares[:, None, None]) * given ** shares[:, None, None]
    model /= model.sum(-1, keepdims=True)
    rows, columns, both = (float(entropy(each, base=2)) for each in (joint.sum(1), alone, joint.ravel()))
    return Bound(rows + columns - both, columns, -(joint * np.log2(model)).sum((1, 2)))
