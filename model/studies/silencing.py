"""Silence every head of one kind in turn, besides the query's own edits, and measure how much the answer changes. Runs
the model once per head."""
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.query import HeadId, Progress, Silence, UserError, counted, frozen, quiet, with_arrays
from clearhead.model.core.record import Prediction
from clearhead.model.core.statistics import cosine, jensen_shannon

if TYPE_CHECKING:
    from pandas import DataFrame


@frozen
class SilencingQuery(MapQuestion):
    """How much does the answer change if a head's output is set to 0 or to its mean over positions?"""

    mode: str = "zero"

    def answer(self, models: Models, report: Progress) -> "Silencing":
        """Silence each head alone, in place of any other edit of its output. Raises UserError for a model without an
        answer."""
        opened, record = models.open(self.query, report), models.record(self.query, report)
        before = record.prediction
        if before is None or (before.vector is None and not before.ids):
            raise UserError(f"{record.card.title} has no answer to this text that silencing a head could change; "
                            f"choose a model that predicts.")
        places, changes = heads.head_ids(record[self.kind]), []
        for _, (layer, head) in counted(places, report, "silenced head"):
            others = self.query.edits - {self.query.output_edit((self.kind, layer, head))}
            edits = others | {Silence(self.kind, layer, head, self.mode)}
            after = opened.record(replace(self.query, edits=edits), quiet).prediction
            changes.append(change(before, cast(Prediction, after)))
        return Silencing("answer" if before.vector is None else "vector", places, np.array(changes))


@with_arrays
class Silencing:
    """How much the answer changes when each head is silenced."""

    measure: str                # "vector": 1 − cosine of sentence vectors; "answer": Jensen–Shannon divergence in bits
    heads: tuple[HeadId, ...]   # in the order of the array
    changes: np.ndarray         # float64 (head)

    def frame(self) -> "DataFrame":
        """Return one row per head: silenced, the change."""
        return heads.head_frame(self.heads, {"silenced": self.changes})


def change(before: Prediction, after: Prediction) -> float:
    """Measure how much two answers of one model to a text differ; 0 if they are equal."""
    if before.vector is not None and after.vector is not None:
        return max(0.0, 1 - cosine(before.vector, after.vector))
    places: Sequence[int] = range(min(len(before.ids), len(after.ids)))
    if before.kind == "target":   # compare generated texts up to the first difference
        same = takewhile(lambda place: before.ids[place][0] == after.ids[place][0], places[:-1])
        places = [0, *(place + 1 for place in same)]
    return float(np.mean([_divergence(_candidates(before, place), _candidates(after, place), not before.log_normaliser)
                          for place in places]))


def _candidates(prediction: Prediction, place: int) -> dict[int, float]:
    return dict(zip(prediction.ids[place], prediction.probabilities[place], strict=True))


def _divergence(p: dict[int, float], q: dict[int, float], alone: bool) -> float:
    """Compute the Jensen–Shannon divergence in bits over the candidates in both answers plus the remainder. Records
    only keep the top twenty candidates, so this is a lower bound. alone: whether each candidate has a probability of
    its own; the divergence is then the mean over candidates, each of which is true or not."""
    rows = np.array([(share, q[answer]) for answer, share in p.items() if answer in q]).reshape(-1, 2).T
    if alone:
        return float(jensen_shannon(*np.stack([rows, 1 - rows], -1)).mean())
    rows = np.concatenate([rows, np.clip(1 - rows.sum(1, keepdims=True), 0, None)], 1)
    return float(jensen_shannon(*rows))
