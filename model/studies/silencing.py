"""Silence every head of one kind in turn and measure how the answer changes. numpy and pandas only; the model runs once
per head."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import numpy as np

from model.core import heads
from model.core.models import Models
from model.core.query import HeadId, Kind, Progress, Query, Silence, UserError, quiet
from model.core.record import AttentionRecord, Prediction
from model.core.statistics import cosine, jensen_shannon

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class SilencingQuery:
    """Silence each head of one kind alone, setting its output to 0 or to its mean over positions."""

    query: Query
    kind: Kind
    mode: str = "zero"

    def answer(self, models: Models, report: Progress) -> "Silencing":
        """Compute the changes. Raises UserError for a model without an answer."""
        opened = models.open(self.query, report)
        return run(self, models.record(self.query, report), lambda query: opened.record(query, quiet), report)


@dataclass(frozen=True, eq=False)
class Silencing:
    """How much the answer changes when each head is silenced."""

    measure: str                # "vector": 1 − cosine of sentence vectors; "answer": Jensen–Shannon divergence in bits
    heads: tuple[HeadId, ...]   # in the order of the array
    changes: np.ndarray         # float64 (head)

    def frame(self) -> "DataFrame":
        """Return one row per head: silenced, the change."""
        return heads.head_frame(self.heads, {"silenced": self.changes})


def change(before: Prediction, after: Prediction) -> float:
    """Return how far two answers to one text differ, 0 if equal. Raises ValueError for answers of two kinds."""
    if before.kind != after.kind:
        raise ValueError(f"change: expected two answers of one kind, got {before.kind} and {after.kind}; ask one model "
                         f"twice.")
    if before.vector is not None and after.vector is not None:
        return max(0.0, 1 - cosine(before.vector, after.vector))
    places: Sequence[int] = range(min(len(before.ids), len(after.ids)))
    if before.kind == "target":   # generated texts are compared up to where they differ
        same = takewhile(lambda place: before.ids[place][0] == after.ids[place][0], places[:-1])
        places = [0, *(place + 1 for place in same)]
    return float(np.mean([_divergence(_candidates(before, place), _candidates(after, place)) for place in places]))


def _candidates(prediction: Prediction, place: int) -> dict[int, float]:
    return dict(zip(prediction.ids[place], prediction.probabilities[place], strict=True))


def _divergence(p: dict[int, float], q: dict[int, float]) -> float:
    """Return the Jensen–Shannon divergence in bits over the answers that both have plus the remainder. Records only
    keep the twenty best answers, so the true divergence is at least as large."""
    shared = [answer for answer in p if answer in q]
    rows = np.array([[each[answer] for answer in shared] for each in (p, q)]).reshape(2, len(shared))
    rows = np.concatenate([rows, np.clip(1 - rows.sum(1, keepdims=True), 0, None)], 1)
    return float(jensen_shannon(*rows))


def run(question: SilencingQuery, record: AttentionRecord, ask: Callable[[Query], AttentionRecord],
        report: Progress) -> Silencing:
    """Silence every head in turn. `record` is the answer without silencing; `ask` returns any other record.

    Raises UserError for a model without an answer.
    """
    if record.prediction is None or (record.prediction.vector is None and not record.prediction.ids):
        raise UserError(f"{record.card.title} has no answer to this text that silencing a head could change; choose "
                        f"a model that predicts.")
    places = heads.head_ids(record[question.kind])
    changes = []
    for done, (layer, head) in enumerate(places):
        report(done / len(places), f"silencing layer {layer} head {head}")
        edits = record.query.edits | {Silence(question.kind, layer, head, question.mode)}
        after = ask(replace(record.query, edits=edits)).prediction
        changes.append(change(record.prediction, cast(Prediction, after)))
    return Silencing("answer" if record.prediction.vector is None else "vector", places, np.array(changes))
