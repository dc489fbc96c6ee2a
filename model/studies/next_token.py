"""The next token: all logits of the last position, and the distribution that sampling draws from. numpy only."""
from dataclasses import dataclass

import numpy as np

from model.core.finite import check_finite
from model.core.models import Models
from model.core.query import Query
from model.core.types import Progress

NAMED = 50   # tokens whose text travels along, the most probable first


@dataclass(frozen=True)
class NextWordQuery:
    """What does a decoder say comes next after this text and continuation?"""

    query: Query

    def answer(self, models: Models, report: Progress) -> "NextWord":
        """What it says. Raises NoNextWord for a model that is no decoder."""
        return models.open(self.query, report).next_word(self.query, report)


@dataclass(frozen=True, eq=False)
class NextWord:
    """What a decoder says at the last position."""

    logits: np.ndarray       # float32 (vocabulary)
    ids: tuple[int, ...]     # of the NAMED most probable tokens, best first
    texts: tuple[str, ...]   # of the same tokens
    ends: tuple[int, ...]    # ids that end a text

    def __post_init__(self) -> None:
        check_finite("in its answer", self.logits.max())   # a logit of −∞ is a word that is never said

    @property
    def nbytes(self) -> int:
        """Bytes of the logits."""
        return self.logits.nbytes


def distribution(logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> np.ndarray:
    """The probabilities (vocabulary), float64, that sampling draws from: divide by the temperature, then keep the top_k
    largest (0: all), then the fewest largest that together reach top_p (Holtzman et al. 2020), and renormalise; the
    order of transformers' generate. """
    scaled = logits.astype(np.float64) / temperature
    if 0 < top_k < len(scaled):
        scaled = np.where(scaled < np.partition(scaled, -top_k)[-top_k], -np.inf, scaled)
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    if top_p < 1:
        order = np.argsort(-probabilities, kind="stable")
        before = np.cumsum(probabilities[order]) - probabilities[order]
        probabilities[order[before >= top_p]] = 0
        probabilities /= probabilities.sum()
    return probabilities
