"""Create records whose heads have specified weights, and models that answer with them."""
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from clearhead.model.core.attention import Causal, Full
from clearhead.model.core.query import Kind
from clearhead.model.core.record import AttentionMap, AttentionRecord, Reported
from clearhead.model.core.tokens import Tokens
from tests.fabricate import record, tokens

ASKED = SimpleNamespace(model="fake", revision="r")


def looking(count: int, target: Callable[[int], int], share: float = 1.0, kind: Kind = Kind.SELF) -> np.ndarray:
    """Return weights (query, key): each row has `share` on target(row) and the rest uniformly on its allowed keys."""
    allowed = np.tri(count) if kind is Kind.CAUSAL else np.ones((count, count))
    weights = (1 - share) * allowed / allowed.sum(1, keepdims=True)
    for row in range(count):
        seen = row if kind is Kind.CAUSAL else count - 1
        weights[row, min(max(0, target(row)), seen)] += share
    return weights.astype(np.float32)


def planted(layers: list[list[np.ndarray]], kind: Kind = Kind.SELF,
            texts: list[str] | Tokens | None = None) -> AttentionRecord:
    """Create a record with these layers of heads, each with weights (query, key)."""
    count = len(layers[0][0])
    side = texts if isinstance(texts, Tokens) else tokens(texts or count)
    allowed = Causal() if kind is Kind.CAUSAL else Full()
    made = tuple(Reported(index, np.stack(heads), allowed) for index, heads in enumerate(layers))
    return replace(record(count), maps=(AttentionMap(kind, side, side, made),))


def of_words(text: str) -> Tokens:
    """Create a token for each word and punctuation mark of a text, with its position."""
    found = list(re.finditer(r"\w+|[^\w\s]", text))
    return replace(tokens([each[0] for each in found]), spans=tuple(each.span() for each in found))


class FakeModels:
    """Fake models, all of which answer a query with answer(query). more: further attributes of a model."""

    def __init__(self, answer: Callable, **more) -> None:
        card = SimpleNamespace(id="fake", title="Fake", revision="0")
        self.opened = SimpleNamespace(card=card, record=lambda query, report: answer(query), **more)

    def open(self, asked, report):
        return self.opened
