"""Helpers for tests of models: a fixed model in place of all models, a query for a card, and a layer's outputs."""
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.ask import sources
from model.core.models import Models
from model.core.query import Progress
from model.core.record import Card, Layer


class Only:
    """A replacement for `model.core.models.Models` that always uses the same model."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def open(self, _asked: Any, _report: Any) -> Any:
        """Return the model."""
        return self.model

    def record(self, query: Any, report: Any) -> Any:
        """Return the model's record of a query."""
        return self.model.record(query, report)

    def trace(self, query: Any, report: Any) -> Any:
        """Return the model's trace of a query."""
        return self.model.trace(query, report)


def ask(question: Any) -> Any:
    """Return the answer to a question."""
    return sources.ask(question, "test").result(120)


def head_outputs(layer: Layer, rows: np.ndarray) -> np.ndarray:
    """Return the heads' outputs for some queries by equation (1), weights · value, float32 (head, row, d_v)."""
    return layer.mix(layer.weights(slice(None), rows, slice(0, layer.shape[2])))


@dataclass(frozen=True)
class CardQuery:
    """A query without text for a model's card. Answering it opens the model, which verifies it."""

    model: str
    revision: str

    def answer(self, models: Models, report: Progress) -> Card:
        """Return the model's card."""
        return models.open(self, report).card
