"""One open model in the place of all models, for questions that are asked of it alone."""
from typing import Any


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
