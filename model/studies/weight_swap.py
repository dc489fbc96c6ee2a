"""Does the answer need a head's weights? One head's weights exchanged for others: permuted (Jain & Wallace 2019), or
made equal (Wiegreffe & Pinter 2019). numpy only."""
from dataclasses import dataclass

import numpy as np

from model.core import heads, statistics
from model.core.models import Models
from model.core.query import Progress, UserError
from model.core.record import AttentionRecord, Layer
from model.core.trace import Trace
from model.studies.attribution import AttributionQuery, kind_of
from model.studies.token_removal import ExplainedAnswer


@dataclass(frozen=True)
class SwapQuery:
    """What becomes of the answer when one head gets other weights: all equal, or each row in another order."""

    attribution: AttributionQuery   # which answer
    layer: int
    head: int                       # of the kind of attention that `kind_of` gives
    draws: int = 100                # how many other orders

    def answer(self, models: Models, report: Progress) -> "Swapped":
        """Return how far the output moves. Raises UserError for a model whose heads cannot be changed so."""
        return swap_weights(self, *self.attribution.explained(models, report), report)


@dataclass(frozen=True, eq=False)
class Swapped:
    """How far the model's output moves. A distance is the total variation of the probabilities, or 1 − cosine of the
    sentence vectors."""

    even: float                   # distance with equal weights
    permuted: np.ndarray          # distances with permuted weights, float64 (draw)
    largest: float                # the head's largest weight in the row that answers
    entropy: float                # of that row, in bits


def swap_weights(question: SwapQuery, explained: ExplainedAnswer, record: AttentionRecord, trace: Trace | str,
                 report: Progress) -> Swapped:
    """Return the model's output with other weights in all rows of one head, each row within what it may look at.

    Raises UserError for a model whose heads cannot be changed so.
    """
    if not isinstance(trace, Trace):
        raise UserError(f"{record.card.title}'s heads cannot be exchanged: {trace}")
    kind, size = kind_of(record), (len(explained.rows), len(explained.tokens))
    layer = record[kind].layer(question.layer)
    if not isinstance(layer, Layer):
        raise UserError(f"{record.card.title} only reports its weights; choose a verified model.")
    weights = heads.weights(layer, question.head)[:size[0], :size[1]].astype(np.float64)
    may = np.broadcast_to(layer.allowed.block(slice(0, size[0]), slice(0, size[1])),
                          (layer.heads, *size))[question.head]
    rng = np.random.default_rng(statistics.SEED)
    others = [may / np.maximum(may.sum(-1, keepdims=True), 1),
              *(permute_rows(weights, may, rng) for _ in range(question.draws))]
    value = layer.value[question.head * len(layer.value) // layer.heads][:size[1]]
    output = trace.attention(kind, question.layer).w_output
    distances = explained.with_head_values((kind, question.layer, question.head), output, np.stack(others) @ value,
                                           report)
    row = explained.rows @ weights
    return Swapped(float(distances[0]), distances[1:], float(row.max()), float(statistics.entropy(row, base=2)))


def permute_rows(weights: np.ndarray, may: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return each row's weights in another order among the keys that it may look at, (query, key)."""
    permuted = np.zeros_like(weights)
    for query, keys in enumerate(map(np.flatnonzero, may)):
        permuted[query, keys] = weights[query, rng.permutation(keys)]
    return permuted
