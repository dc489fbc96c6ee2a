"""Measure what heads do, and which heads compose, from their weights alone (Elhage et al. 2021).

- **Copying**: Σλ / Σ|λ| over the eigenvalues of W_E W_V W_O W_U, −1 to 1. At 1, every attended token raises its own
  logit. Needs an unembedding.
- **Matching**: the same for W_E W_Q W_Kᵀ W_Eᵀ. At 1, every token attends to itself. With rotary positions, this is the
  value for distance 0.
- **Composition** of an earlier head 1 with a later head 2: ‖R L‖ / (‖R‖ ‖L‖) in Frobenius norms, with L = W_V¹ W_O¹ and
  R = W_Q² W_K²ᵀ on the query side (Q) or the key side (K), or R = W_V² W_O² (V). All heads of a trained model share
  some directions, so random matrices are no null: nearly every pair exceeds them. The null are the pairs of the same
  model in the impossible order, a later head's output read by an earlier one.

The weights are those of `model.studies.head_weights`. Layers between the two heads, and gates behind heads, are
ignored.
"""
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads as core_heads
from clearhead.model.core.models import ModelQuestion, Models, OpenModel, query_of
from clearhead.model.core.query import HeadId, Kind, Progress, frozen, quiet, with_arrays
from clearhead.model.studies import head_weights
from clearhead.model.studies.head_weights import HeadWeights
from clearhead.model.studies.induction import LENGTH, mean_scores

if TYPE_CHECKING:
    from pandas import DataFrame

KINDS = ("Q", "K", "V")
RARE = 0.01          # share of pairs in the impossible order that exceed the limit for a pair
REPEATS = 4          # number of draws of random tokens


@frozen
class MechanismsQuery(ModelQuestion):
    """What does every head do, according to its weights?"""

    def answer(self, models: Models, report: Progress) -> "Mechanisms":
        """Compute the measures and all pairs' composition, in the encoder if there is no decoder. Raises UserError if
        the model cannot be traced."""
        opened = models.open(self, report)
        trace = opened.trace(query_of(opened, [opened.vocabulary.neutral]), quiet)
        kinds = {attention.kind for block in trace.blocks for attention in block.attentions}
        kind = Kind.CAUSAL if Kind.CAUSAL in kinds else Kind.SELF
        weights = head_weights.head_weights(trace, kind)
        copying = head_weights.copying(opened, trace, weights, kind)
        report(0.3, "matching queries and keys")
        matching = head_weights.matching(opened, weights)
        report(0.4, "repeating random tokens")
        detected = detectors(opened) if kind is Kind.CAUSAL and len(kinds) == 1 else {}
        scores = composed(weights, lambda done: report(0.5 + 0.5 * done, "composing pairs of heads"))
        layers = weights.layers
        earlier, later = layers[:, None] < layers, layers[:, None] > layers
        return Mechanisms(weights.heads, copying, matching, detected,
                          {kind: np.where(earlier, each, np.nan).astype(np.float32) for kind, each in scores.items()},
                          {kind: Null.of(each[later]) for kind, each in scores.items()})


@frozen
class Null:
    """The composition of pairs in the impossible order. NaN for a model of one layer."""

    mean: float
    high: float     # the limit for a pair: exceeded by the share RARE of them, at least by none
    chance: float   # share of possible pairs that exceed it by chance; more than RARE if there are few impossible pairs

    @classmethod
    def of(cls, scores: np.ndarray) -> "Null":
        """Return the null of these pairs' scores (pair)."""
        if not len(scores):
            return cls(math.nan, math.nan, math.nan)
        rank = max(1, int(RARE * (len(scores) + 1)))
        return cls(float(scores.mean()), float(np.sort(scores)[-rank]), rank / (len(scores) + 1))


@with_arrays
class Mechanisms:
    """Measures of every head, and the composition of every pair of an earlier and a later head."""

    heads: tuple[HeadId, ...]
    copying: np.ndarray | None              # float64 (head), or None without an unembedding
    matching: np.ndarray                    # float64 (head)
    detected: dict[str, np.ndarray]         # {previous, duplicate, induction: float64 (head)}; {} unless a decoder
    composition: dict[str, np.ndarray]  # {Q, K, V: float32 (earlier head, later head)}, NaN unless the first is earlier
    null: dict[str, Null]                   # {Q, K, V: pairs in the impossible order}

    def __repr__(self) -> str:
        found = ", ".join(f"{kind} {self.share(kind):.1%} ({null.chance:.1%} by chance)"
                          for kind, null in self.null.items() if not math.isnan(null.high))
        return f"<Mechanisms: {len(self.heads)} heads; pairs above the limit: {found or 'none, in a single layer'}>"

    def share(self, kind: str) -> float:
        """Return the share of possible pairs above the null's limit, 0 to 1. kind: Q, K or V."""
        scores = self.composition[kind]
        return float((scores[np.isfinite(scores)] > self.null[kind].high).mean()) if np.isfinite(scores).any() else 0.0

    def frame(self) -> "DataFrame":
        """Return one row per head: copying, matching, previous, duplicate and induction."""
        columns = {} if self.copying is None else {"copying": self.copying}
        return core_heads.head_frame(self.heads, columns | {"matching": self.matching} | self.detected)

    def pairs(self) -> "DataFrame":
        """Return one row per pair above the limit of its kind, largest excess first: kind (Q, K or V), earlier and
        later head, score, excess (the score minus the null's mean), and share and chance, the shares of all pairs of
        this kind that are above the limit, observed and by chance."""
        from pandas import DataFrame

        rows = [(kind, *self.heads[one], *self.heads[other], float(scores[one, other]),
                 float(scores[one, other] - null.mean), self.share(kind), null.chance)
                for (kind, scores), null in zip(self.composition.items(), self.null.values(), strict=True)
                for one, other in np.argwhere(np.nan_to_num(scores) > null.high)]
        table = DataFrame(rows, columns=["kind", "earlier_layer", "earlier_head", "later_layer", "later_head", "score",
                                         "excess", "share", "chance"])
        return table.sort_values("excess", ascending=False, kind="stable").reset_index(drop=True)


def detectors(opened: OpenModel) -> dict[str, np.ndarray]:
    """Score heads on repeated random tokens with `model.studies.induction`, {name: float64 (head)}."""
    tokenizer = opened.tokenizer
    length = min(LENGTH, len(tokenizer) - len(tokenizer.all_special_ids))
    found = mean_scores(opened, draws=REPEATS, length=length)
    assert found.duplicate is not None   # missing only in shipped results
    return {"previous": found.previous, "duplicate": found.duplicate, "induction": found.prefix}


def _gram(matrices: np.ndarray) -> np.ndarray:
    """Compute MᵀM of each matrix, (head, d, d)."""
    return matrices.swapaxes(1, 2) @ matrices


def composed(weights: HeadWeights, done: Callable[[float], None]) -> dict[str, np.ndarray]:
    """Compute ‖R L‖ / (‖R‖ ‖L‖) for all pairs of heads, {Q, K, V: float32 (head of L, head of R)}, in any order.

    Uses ‖A B C D‖² = tr(Mᵀ AᵀA M D Dᵀ) with M = B C, a small matrix.
    """
    left, behind_values = _gram(weights.value), weights.output @ weights.output.swapaxes(1, 2)   # L = W_V W_O
    size_left, count = np.sqrt(np.einsum("hij,hij->h", left, behind_values)), len(weights.heads)
    readers = {"Q": (weights.query, _gram(weights.key)), "K": (weights.key, _gram(weights.query)),
               "V": (weights.value, behind_values)}
    found, outputs = {}, weights.output.reshape(-1, weights.output.shape[2])
    for name, (read, behind) in readers.items():
        size = np.sqrt(np.einsum("hij,hij->h", _gram(read), behind))
        found[name] = np.empty((count, count), np.float32)
        for reader in range(count):
            middle = (outputs @ read[reader]).reshape(count, -1, read.shape[2])
            numbers = np.einsum("hvk,hvk->h", left @ middle, middle @ behind[reader])   # both symmetric
            found[name][:, reader] = np.sqrt(np.maximum(numbers, 0)) / np.maximum(size_left * size[reader], 1e-30)
            done((KINDS.index(name) + reader / count) / len(KINDS))
    return found
