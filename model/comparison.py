"""Two answers side by side: tokens aligned by characters, one head as a signed difference, and which heads changed most. numpy only.

A row of weights is a distribution over keys. Two rows of different tokens are compared over the aligned keys and one more, the rest. The measure
is the Jensen–Shannon divergence in bits (Lin 1991): 0 for equal rows, 1 for rows that share nothing.
"""
from dataclasses import dataclass

import numpy as np

from model import heads
from model.alignment import Group, align
from model.lessons.information import entropy
from model.query import Kind, Query, UserError
from model.record import AttentionMap, AttentionRecord

LONGEST = 256     # tokens: every head's whole matrix is looked at


@dataclass(frozen=True)
class ComparisonQuery:
    """What changes in which head between two questions: answered by a `Comparison`. head: of the second, against which every head of the first
    is then held; None compares each head with the same head of the second."""

    first: Query
    second: Query
    kinds: tuple[Kind, Kind]
    head: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """rows, columns: groups of queries and of keys. changed: {(layer, head) of the first: mean Jensen–Shannon divergence of its rows in bits}."""

    rows: tuple[Group, ...]
    columns: tuple[Group, ...]
    changed: dict[tuple[int, int], float]

    @property
    def nbytes(self) -> int:
        return 200 * (len(self.changed) + len(self.rows) + len(self.columns))

    @property
    def ranked(self) -> list[tuple[int, int, float]]:
        """(layer, head, divergence), the largest first."""
        return sorted(((*place, value) for place, value in self.changed.items()), key=lambda each: (-each[2], each[:2]))


def pooled(weights: np.ndarray, rows: list[tuple[int, ...]], columns: list[tuple[int, ...]]) -> np.ndarray:
    """Float64 (..., row, column) of weights (..., query, key): the sum over a group's keys, the mean over its queries (Clark et al. 2019,
    section 4.1); NaN where a group has no token."""
    def share(groups: list[tuple[int, ...]], count: int, mean: bool) -> np.ndarray:
        found = np.zeros((len(groups), count))
        for place, group in enumerate(groups):
            found[place, list(group)] = (1 / len(group) if mean else 1) if group else 0
            if not group:
                found[place] = np.nan
        return found

    return share(rows, weights.shape[-2], True) @ weights.astype(np.float64) @ share(columns, weights.shape[-1], False).T


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Jensen–Shannon divergence in bits, 0 to 1, of rows (..., key) that each sum to one (Lin 1991, equation 3.1)."""
    return np.maximum(entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2, 0)


def head_of(attention_map: AttentionMap, layer: int, head: int) -> np.ndarray:
    return heads.weights(attention_map.layer(layer), head)


def difference(first: np.ndarray, second: np.ndarray, rows: tuple[Group, ...], columns: tuple[Group, ...]) -> tuple[np.ndarray, ...]:
    """(first, second, second − first), each float64 (row group, column group), of weights (query, key); NaN where one side has no token."""
    one = pooled(first, [each.first for each in rows], [each.first for each in columns])
    other = pooled(second, [each.second for each in rows], [each.second for each in columns])
    return one, other, other - one


def _rows(weights: np.ndarray, rows: list[tuple[int, ...]], columns: list[tuple[int, ...]]) -> np.ndarray:
    """Distributions (..., row, column + 1) over the aligned keys and the rest."""
    found = pooled(weights, rows, columns)
    return np.concatenate([found, np.clip(1 - found.sum(-1, keepdims=True), 0, None)], -1)


def compare(question: ComparisonQuery, first: AttentionRecord, second: AttentionRecord) -> Comparison:
    """Raises UserError for texts that are too long or share no token, and where heads have no counterpart."""
    one, other = first[question.kinds[0]], second[question.kinds[1]]
    if max(len(one.queries), len(one.keys), len(other.queries), len(other.keys)) > LONGEST:
        raise UserError(f"Comparing looks at every head's whole matrix and takes at most {LONGEST} tokens a side; shorten the texts.")
    sides = [align(first, second, question.kinds, side) for side in ("queries", "keys")]
    rows, columns = ([each for each in side if each.both] for side in sides)
    if not rows or not columns:
        raise UserError("The two texts share no token, so that no row has a counterpart; choose texts that are more alike.")
    if question.head is None and [each.shape[0] for each in one.layers] != [each.shape[0] for each in other.layers]:
        raise UserError("The two models have different numbers of layers or heads, so that no head has a counterpart; compare with one open head.")
    given = None if question.head is None else _rows(head_of(other, *question.head)[None], [each.second for each in rows],
                                                     [each.second for each in columns])
    changed: dict[tuple[int, int], float] = {}
    for place, layer in enumerate(one.layers):
        mine = _rows(_whole(layer), [each.first for each in rows], [each.first for each in columns])
        theirs = given if given is not None else _rows(_whole(other.layers[place]), [each.second for each in rows], [each.second for each in columns])
        changed.update({(layer.index, head): float(value) for head, value in enumerate(divergence(mine, theirs).mean(-1))})
    return Comparison(*sides, changed)


def _whole(layer) -> np.ndarray:
    """All heads of a layer, float32 (head, query, key)."""
    found = np.zeros(layer.shape, np.float32)
    for rows, keys, block in heads.weight_blocks(layer):
        found[:, rows, keys] = block
    return found


def answers(first: AttentionRecord, second: AttentionRecord, shown: int = 6) -> list[tuple[str, float, float]]:
    """(token, probability in the first, in the second) at the last place that predicts, for the best of both; NaN for one that is not among the
    twenty that are kept. Empty where either says no words."""
    sides = [record.prediction for record in (first, second)]
    if any(each is None or not each.ids for each in sides):
        return []
    found = [dict(zip(each.texts[-1], each.probabilities[-1], strict=True)) for each in sides]
    names = dict.fromkeys([*list(found[0])[:shown], *list(found[1])[:shown]])
    return [(name, *(each.get(name, float("nan")) for each in found)) for name in names]


def cosine(first: AttentionRecord, second: AttentionRecord) -> float | None:
    """The cosine of the two sentence vectors; None unless both answer with vectors of one length."""
    vectors = [getattr(record.prediction, "vector", None) for record in (first, second)]
    if any(each is None for each in vectors) or vectors[0].shape != vectors[1].shape:
        return None
    a, b = (each.astype(np.float64) for each in vectors)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
