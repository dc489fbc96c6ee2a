"""A text as a product: how probable a decoder finds each token after what stands before it. numpy only."""
from dataclasses import dataclass

import numpy as np

from model.core.finite import check_finite
from model.core.masks import frozen_array
from model.core.models import Models
from model.core.query import Query
from model.core.types import Progress


@dataclass(frozen=True)
class LikelihoodQuery:
    """P(y | x) = Π_t P(y_t | y_<t, x) of a query's text (a decoder) or target (an encoder–decoder)."""

    query: Query

    def answer(self, models: Models, report: Progress) -> "SequenceLikelihood":
        """The factors. Raises UserError for a model that predicts no next token."""
        return models.open(self.query, report).sequence_likelihood(self.query, report)


@dataclass(frozen=True, eq=False)
class SequenceLikelihood:
    """The tokens that are predicted, in order. A model without a start token predicts no first token, which is then not
    among them."""

    texts: tuple[str, ...]
    ids: tuple[int, ...]            # their numbers in the vocabulary
    log_probabilities: np.ndarray   # ln P(y_t | y_<t, x) in nats, float64 (t)

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.ids) == len(self.log_probabilities):
            raise ValueError(f"SequenceLikelihood: expected one number a token, got {len(self.texts)} texts, "
                             f"{len(self.ids)} ids and {len(self.log_probabilities)} numbers; cut them alike.")
        check_finite("in its answer", np.exp(self.log_probabilities))   # ln P of −∞ is a word that is never said
        object.__setattr__(self, "log_probabilities", frozen_array(self.log_probabilities, np.float64))

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers, and about those of the texts."""
        return self.log_probabilities.nbytes + 100 * len(self.texts)

    @property
    def products(self) -> np.ndarray:
        """ln P(y_1 … y_t | x) in nats, float64 (t): the probabilities multiplied up."""
        return np.cumsum(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """exp of the mean −ln P: as unsure as if that many tokens were equally likely each time."""
        return float(np.exp(-self.log_probabilities.mean()))
