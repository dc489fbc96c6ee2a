"""What a question may ask of others: open models, and the answers that other questions have already.

A question is a frozen dataclass with `answer(models, report)`. `Models` is implemented by model/ask/sources.py,
`OpenModel` by model/pretrained/model.py, model/scratch/models.py and model/imported/source.py. The three questions here
are those that an open model answers all by itself, as it does a `Query`.
"""
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from model.core.query import Kind, Query
from model.core.record import AttentionRecord, Card
from model.core.trace import LastVectors, Trace
from model.core.types import HeadId, Progress, Span


class NamesModel(Protocol):
    """Whatever says which model it is put to: a query, or a question without a text of its own."""

    @property
    def model(self) -> str:
        """The model's id."""

    @property
    def revision(self) -> str:
        """The fingerprint of its weights, configuration and tokenizer."""


class OpenModel(Protocol):
    """A model that is ready to answer. One that cannot do what is asked raises UserError with the way out.

    A type of `Any` belongs to the study that is named; core does not know the studies.
    """

    @property
    def card(self) -> Card:
        """What it is."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""

    @property
    def tokenizer(self) -> Any:
        """From texts to ids: of transformers, or our own."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The record of the query's pass."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """Everything between the embeddings and the last block of the same pass."""

    def last_vectors(self, question: "LastVectorsQuery", report: Progress) -> LastVectors:
        """What the last block of one kind puts out."""

    def next_word(self, query: Query, report: Progress) -> Any:
        """What comes after the text and its continuation: `NextWord` of model.studies.predictions."""

    def log_probability(self, query: Query, span: Span) -> float:
        """ln P of the words at `span`, the mean over their tokens in nats."""

    def sequence_likelihood(self, query: Query, report: Progress) -> Any:
        """Each token's probability after those before it: `SequenceLikelihood` of model.studies.predictions."""

    def patch_heads(self, question: Any, report: Progress) -> Any:
        """Every head of a `PatchQuery` patched: `PatchEffects`, both of model.studies.patching."""

    def explained_answer(self, question: Any, report: Progress) -> Any:
        """The model with an `AttributionQuery` (model.studies.attribution) put to it: `ExplainedAnswer` of
        model.studies.token_removal."""

    def pronoun_decision(self, question: Any, report: Progress) -> Any:
        """Where il or elle is decided: `DecisionQuery` and `Decision` of model.studies.predictions."""

    def pronoun_decisions(self, question: Any, report: Progress) -> Any:
        """The same over many sentences: `DecisionSetQuery` and `DecisionSet` of model.studies.predictions."""

    def copying_scores(self, heads: tuple[HeadId, ...]) -> np.ndarray | None:
        """Whether each head raises what it looks at, -1 to 1, float64 (head); None for a model that was not trained
        here."""


class Models(Protocol):
    """All open models, and the records and traces of their passes, each computed only if it is not there."""

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """The model that a question is put to, opened if it is not. Raises UserError for one that is not there."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The answer to a query."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """The answer to its TraceQuery."""


@dataclass(frozen=True)
class CardQuery:
    """A model's card, without a text. Opens the model, which verifies it."""

    model: str
    revision: str

    def answer(self, models: Models, report: Progress) -> Card:
        """What the model is."""
        return models.open(self, report).card


@dataclass(frozen=True)
class TraceQuery:
    """Everything between the embeddings and the last block of one query's pass."""

    query: Query

    def answer(self, models: Models, report: Progress) -> Trace:
        """The trace, of the very pass that the query's record comes from."""
        return models.open(self.query, report).trace(self.query, report)


@dataclass(frozen=True)
class LastVectorsQuery:
    """Only the vectors that the last block of one kind puts out, at the price of a plain pass."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> LastVectors:
        """The vectors."""
        return models.open(self.query, report).last_vectors(self, report)
