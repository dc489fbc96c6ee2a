"""One open model in the place of all models, for questions that are asked of it alone; a layer's own outputs."""
from typing import Any

import numpy as np

from model.core.record import Layer


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
    return layer.mix(layer.weights(slice(None), rows, slice(0, layer.shape[2]))).numpy()
