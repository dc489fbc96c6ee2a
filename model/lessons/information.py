r"""Measure heads in bits: entropy, mutual information between query and attended position, divergence between heads.

A head's rows are distributions w_i over keys, float (query, key). If all queries are equally likely, they form a joint
distribution of query and attended position, whose mutual information is I = H(mean row) − mean H(row) (Cover & Thomas
2006, chapter 2). The Jensen–Shannon divergence (Lin 1991) is the square of a metric (Endres & Schindelin 2003). Clark
et al. 2019, section 6, apply it to the heads of a model.
"""
from collections.abc import Sequence

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.query import HeadId, Kind, Progress, UserError, frozen, with_arrays
from clearhead.model.core.record import AttentionMap
from clearhead.model.core.statistics import entropy
from clearhead.model.core.view import MAX_UNPOOLED
from clearhead.model.studies.rollout import uniform_rows

# maximum count of numbers processed in comparing all pairs of heads on a text; longer texts use evenly spaced rows
BUDGET = 4e8
LONGEST = MAX_UNPOOLED           # maximum number of tokens, because every head's full matrix is needed
NAMES = ("entropy", "mutual", "distance")   # names of the measures
TOYS = ("uniform", "causal", "first", "itself", "previous")


@frozen
class InformationQuery(MapQuestion):
    """What are the information measures of the heads of one kind on one text?"""

    def answer(self, models: Models, report: Progress) -> "Information":
        """Compute the measures. Raises UserError for an overlong text."""
        return measure_text(self.attention_map(models, report), report)


@with_arrays
class Information:
    """The information measures of the heads of one kind, float64 (head)."""

    places: tuple[HeadId, ...]      # (layer, head), in the order of the arrays
    values: dict[str, np.ndarray]   # entropy: mean H(row); mutual: I; distance: mean |i − j|, NaN for cross-attention
    blank: dict[str, np.ndarray]    # the same for uniform weights under each layer's mask
    divergence: np.ndarray          # mean Jensen–Shannon divergence, 0 to 1, (head, head)
    tokens: float                   # number of tokens, averaged over texts
    texts: int = 1                  # number of texts averaged


def mutual(weights: np.ndarray) -> np.ndarray:
    """Return the mutual information of query and attended position in bits, for weights (..., query, key): the entropy
    of the mean row minus the mean entropy of the rows."""
    return np.maximum(entropy(weights.mean(-2), base=2) - entropy(weights, base=2).mean(-1), 0)


def toy(name: str, n: int, sharpness: float = 1.0) -> np.ndarray:
    """Return the weights (query, key) of an idealised head over n tokens. A share `sharpness` of each row follows the
    named pattern; the rest is spread evenly over the allowed keys."""
    full, causal = np.full((n, n), 1 / n), np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    if name in ("uniform", "causal"):
        return full if name == "uniform" else causal
    target = {"first": np.zeros(n, int), "itself": np.arange(n), "previous": np.maximum(0, np.arange(n) - 1)}[name]
    return sharpness * np.eye(n)[target] + (1 - sharpness) * full


def measure_text(attention_map: AttentionMap, report: Progress) -> Information:
    """Compute all measures on one text. An attention sink counts as an extra key, which makes rows sum to 1."""
    attention_map.check_unsigned("the entropy of a row")
    shape = len(attention_map.queries), len(attention_map.keys)
    if max(shape) > LONGEST:
        raise UserError(f"The text has {max(shape):,} tokens, but heads can be compared on at most {LONGEST:,}; "
                        f"shorten it.")
    apart, crosses = np.abs(np.arange(shape[0])[:, None] - np.arange(shape[1])), attention_map.kind.base is Kind.CROSS
    compared = _rows(sum(layer.heads for layer in attention_map.layers), *shape)
    values: list[tuple] = []   # one tuple per head, in the order of NAMES
    blank: list[tuple] = []
    places, sampled = [], []
    for number, layer in enumerate(attention_map.layers):
        report(0.3 * number / len(attention_map.layers), f"{shape[0]} tokens: layer {layer.index}")
        for head in range(layer.heads):
            weights = _whole(heads.weights(layer, head))
            allowed = heads.allowed_cells(layer.allowed, slice(0, shape[0]), slice(0, shape[1]), head)
            for numbers, rows in ((values, weights), (blank, _whole(uniform_rows(allowed)))):
                distance = np.nan if crosses else (rows[:, :shape[1]] * apart).sum(1).mean()
                numbers.append((entropy(rows, base=2).mean(), mutual(rows), distance))
            places.append((layer.index, head))
            sampled.append(np.pad(weights[compared], ((0, 0), (0, 1 + shape[1] - weights.shape[1]))).astype(np.float32))
    of_heads, of_blank = (dict(zip(NAMES, np.array(numbers).T, strict=True)) for numbers in (values, blank))
    return Information(tuple(places), of_heads, of_blank, divergences(np.stack(sampled), report), shape[0])


def _rows(n_heads: int, queries: int, keys: int) -> np.ndarray:
    """Return the queries whose rows are compared: all, or an evenly spaced selection within BUDGET."""
    wanted = max(1, min(queries, int(BUDGET / (n_heads**2 / 2 * (keys + 1)))))
    return np.unique(np.linspace(0, queries - 1, wanted).round().astype(int))


def _whole(weights: np.ndarray) -> np.ndarray:
    """Return rows (query, key) that sum to 1, float64. A last column holds what is missing: the share of an attention
    sink, or all of a row that sees nothing."""
    weights = weights.astype(np.float64)
    rest = 1 - weights.sum(1, keepdims=True)
    return np.hstack([weights, np.maximum(rest, 0)]) if rest.max() > 1e-3 else weights / weights.sum(1, keepdims=True)


def divergences(weights: np.ndarray, report: Progress) -> np.ndarray:
    """Return the mean Jensen–Shannon divergence in bits between the rows of every two heads, float64 (head, head): the
    entropy of the average of two rows minus the average of their entropies.

    weights: (head, row, key), with rows that sum to 1.
    """
    own = entropy(weights, base=2).mean(-1, dtype=np.float64)
    divergence = np.zeros((len(weights), len(weights)))
    for place in range(len(weights) - 1):
        report(0.3 + 0.7 * place / len(weights), f"head {place} of {len(weights)} with all others")
        middle = entropy((weights[place + 1:] + weights[place]) / 2, base=2).mean(-1, dtype=np.float64)
        divergence[place, place + 1:] = middle - (own[place + 1:] + own[place]) / 2
    return np.clip(divergence + divergence.T, 0, 1)


def mean_over_texts(texts: Sequence[Information]) -> Information:
    """Average the measures of one model over texts, with equal weights."""
    first = texts[0]

    def mean(field: str) -> dict[str, np.ndarray]:
        return {name: np.mean([getattr(text, field)[name] for text in texts], axis=0) for name in first.values}

    return Information(first.places, mean("values"), mean("blank"),
                       np.mean([text.divergence for text in texts], axis=0),
                       float(np.mean([text.tokens for text in texts])), len(texts))


def within_and_between(measured: Information, distances: np.ndarray) -> tuple[float, float]:
    """Return the mean distance between two heads in the same layer, and in different layers; NaN if there is no such
    pair. distances: (head, head)."""
    layers = np.array([layer for layer, _ in measured.places])
    above = np.triu(np.ones_like(distances, bool), 1)
    same = layers[:, None] == layers
    mean = lambda chosen: float(distances[chosen].mean()) if chosen.any() else np.nan
    return mean(above & same), mean(above & ~same)


@with_arrays
class Bound:
    """The mutual information I(X;Y) of a joint distribution, and its lower bound H(Y) − cross-entropy from a model
    q(y|x), for every share that the model has learned."""

    information: float
    entropy: float
    cross_entropy: np.ndarray


def bound(strength: float, shares: np.ndarray) -> Bound:
    """Compute the bound for a random joint distribution p(x, y).

    The model is q ∝ p(y)^(1−s) p(y|x)^s for each share s. For s = 0 it only knows the frequency of each y, for s = 1 it
    equals p(y|x), and for s > 1 it is overconfident. The cross-entropy is −E log₂ q(y|x), and
    I(X;Y) ≥ H(Y) − cross-entropy, with equality for q = p (Barber & Agakov 2003).
    """
    scores = strength * np.random.default_rng(0).standard_normal((6, 6))
    joint = np.exp(scores - scores.max())
    joint /= joint.sum()
    given, alone = joint / joint.sum(1, keepdims=True), joint.sum(0)
    model = alone ** (1 - shares[:, None, None]) * given ** shares[:, None, None]
    model /= model.sum(-1, keepdims=True)
    rows, columns, both = (float(entropy(each, base=2)) for each in (joint.sum(1), alone, joint.ravel()))
    return Bound(rows + columns - both, columns, -(joint * np.log2(model)).sum((1, 2)))


def between(points: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances between all points, (point, point)."""
    from scipy.spatial.distance import cdist

    return cdist(points, points)


def stress(points: np.ndarray, wanted: np.ndarray) -> float:
    """Compute Kruskal's stress-1, √(Σ (distance − wanted)² / Σ distance²). 0 is perfect; Kruskal called 0.1 fair and
    0.2 poor."""
    distances = between(points)
    return float(np.sqrt(((distances - wanted) ** 2).sum() / max((distances**2).sum(), 1e-300)))


def classical(wanted: np.ndarray) -> np.ndarray:
    """Run classical multidimensional scaling: find the best approximation of −½ J D² J of rank 2, (point, 2). It is
    exact if the dissimilarities are Euclidean distances in a plane."""
    centre = np.eye(len(wanted)) - 1 / len(wanted)
    values, vectors = np.linalg.eigh(-centre @ wanted**2 @ centre / 2)
    return vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))


def least_stress(wanted: np.ndarray) -> np.ndarray:
    """Return points (point, 2) that minimise Σ (distance − wanted)² locally, starting from classical scaling."""
    from scipy.optimize import minimize

    def raw(flat: np.ndarray) -> tuple[float, np.ndarray]:
        points = flat.reshape(-1, 2)
        apart = between(points)
        pulls = np.divide(apart - wanted, apart, out=np.zeros_like(apart), where=apart > 0)
        slope = 4 * (pulls.sum(1, keepdims=True) * points - pulls @ points)
        return float(((apart - wanted) ** 2).sum()), slope.ravel()

    return np.asarray(minimize(raw, classical(wanted).ravel(), jac=True, method="L-BFGS-B").x.reshape(-1, 2))
