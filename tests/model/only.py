"""Helpers for tests of models: a fixed model in place of all models, and a query for a card."""
from dataclasses import dataclass
from typing import Any

from clearhead.model.ask import desk
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress
from clearhead.model.core.record import Card


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

    def trace(self, query: Any, report: Any, tokens: Any = ()) -> Any:
        """Return the model's trace of a query."""
        return self.model.trace(query, report)


def ask(question: Any) -> Any:
    """Return the answer to a question."""
    return desk.ask(question, "test").result(120)


@dataclass(frozen=True)
class CardQuery:
    """A query without text for a model's card. Answering it opens the model, which verifies it."""

    model: str
    revision: str

    def answer(self, models: Models, report: Progress) -> Card:
        """Return the model's card."""
        return models.open(self, report).card
