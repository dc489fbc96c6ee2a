"""What several tests ask of models: one open model in place of all, a model's card alone, a layer's own outputs."""
from dataclasses import dataclass
from typing import Any

import numpy as np

from model.core.models import Models
from model.core.query import Progress
from model.core.record import Card, Layer


class Only:
    """`model.core.models.Models` with a single model, whatever is asked."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def open(self, _asked: Any, _report: Any) -> Any:
        """The model."""
        return self.model

    def record(self, query: Any, report: Any) -> Any:
        """Its record."""
        return self.model.record(query, report)

    def trace(self, query: Any, report: Any) -> Any:
        """Its trace."""
        return self.model.trace(query, report)


def head_outputs(layer: Layer, rows: np.ndarray) -> np.ndarray:
    """weights · value for some queries, float32 (head, row, d_v): what equation (1) says the layer's heads put out."""
    return layer.mix(layer.weights(slice(None), rows, slice(0, layer.shape[2])))


@dataclass(frozen=True)
class CardQuery:
    """A model's card, without a text. Opens the model, which verifies it."""

    model: str
    revision: str

    def answer(self, models: Models, report: Progress) -> Card:
        """What the model is."""
        return models.open(self, report).card
