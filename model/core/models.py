"""The interfaces that questions use: open models, and the answers to other questions.

A question is a frozen dataclass with `answer(models, report)`. `Models` is implemented by model/ask/sources.py;
`OpenModel` by model/capture/model.py for every network and by model/imported/source.py for imported files.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from model.core.query import Edit, Kind, KindHeadId, Progress, Query, UserError, check_finite, quiet
from model.core.record import AttentionRecord, Card, Omission, Tokens
from model.core.trace import LastVectors, Trace

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class ModelInput:
    """A query as the network's input."""

    source: Tokens                      # tokens of the text, pair or picture
    target: Tokens | None               # the other side of an encoder–decoder
    tensors: "dict[str, Tensor]"        # arguments of the network's forward: (1, token), or a picture
    omitted: Omission | None            # None if the whole text was read
    notes: tuple[str, ...]              # sentences on differences between the typed and the tokenized text
    picture: np.ndarray | None = None   # uint8 (height, width, 3), the input of a vision model

    @property
    def lengths(self) -> tuple[int, int | None]:
        """The numbers of source and target tokens."""
        return len(self.source), None if self.target is None else len(self.target)


@dataclass(frozen=True, eq=False)
class PassAnswer:
    """A model's answer in one pass."""

    kind: str                    # next, mask, target, label or vector
    positions: tuple[int, ...]   # positions at which it answers
    numbers: np.ndarray          # logits, float32 (position, vocabulary), or the sentence vector, float32 (d_model)

    def __post_init__(self) -> None:
        check_finite("in its answer", self.numbers.max(-1))   # a logit of −∞ marks a word that is never predicted


@dataclass(frozen=True, eq=False)
class Pass:
    """The result of one pass."""

    outputs: "Callable[[], Tensor]"             # returns logits (row, token, vocabulary) or sentence vectors (row, d)
    answer: Callable[[int], PassAnswer]         # returns the answer for a row; raises UserError if there is none
    heads: "dict[tuple[Kind, int], Tensor]"     # every head's output (q, head, d_v), by kind and layer
    last: dict[Kind, np.ndarray]                # (t, d_model), the output of the last block of each kind, if requested


class Vocabulary(Protocol):
    """The words that a model can answer with."""

    @property
    def neutral(self) -> int:
        """The id that replaces a removed token."""

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids that end a text."""

    def name(self, number: int) -> str:
        """Return the word with this id."""

    def number(self, word: str) -> int | None:
        """Return the id of a word or of its first piece, or None if the vocabulary lacks it."""


class NamesModel(Protocol):
    """Anything addressed to a model: a query, or a question without its own text."""

    @property
    def model(self) -> str:
        """The model's id."""

    @property
    def revision(self) -> str:
        """The fingerprint of the model's weights, configuration and tokenizer."""


class OpenModel(Protocol):
    """A model that is ready to answer. Unsupported operations raise a UserError that says what to do instead.

    Studies are functions that use these methods. An imported file supports only `card` and `record`.
    """

    @property
    def card(self) -> Card:
        """A description of the model."""

    @property
    def nbytes(self) -> int:
        """The weights' size in bytes."""

    @property
    def network(self) -> Any:
        """The torch module: one of transformers' classes or our own Transformer."""

    @property
    def tokenizer(self) -> Any:
        """The tokenizer: one of transformers' classes or our own."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that the model can answer with."""

    @property
    def task(self) -> str:
        """The kind of prediction: next, mask, target, label, vector or none."""

    @property
    def ours(self) -> bool:
        """Whether it is our own Transformer with a small vocabulary."""

    @property
    def editable(self) -> bool:
        """Whether its passes can be edited; False if it only reports its weights."""

    @property
    def vector_of(self) -> str:
        """How the sentence vector is formed: "mean" of all tokens, or "first" token."""

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as the network's input."""

    def run(self, asked: ModelInput, edits: frozenset[Edit] = frozenset(), report: Progress = quiet, *,
            every: bool = False, rows: "list[dict[KindHeadId, Tensor]] | None" = None, last: bool = False) -> Pass:
        """Run one captured pass.

        every: compute logits of all tokens, where a decoder would only compute the last. rows: run one copy of the text
        per entry, with the outputs (q, d_v) of some heads replaced. last: keep the output of the last block of each
        kind.
        """

    def forward(self, tensors: "dict[str, Tensor]") -> "Tensor":
        """Return logits (row, token, vocabulary) or sentence vectors (row, d) of a plain, differentiable pass."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the record of the query's pass."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """Return the trace of the same pass, from the embeddings to the last block."""


def check_lengths(other: Query, there: int, here: int) -> None:
    """Raise UserError unless both passes have the same number of tokens on the query side."""
    if there != here:
        raise UserError(f"A head's output is copied token by token, but there are {there} tokens in "
                        f"“{other.text[:60]}” and {here} here; choose a text with the same number of tokens.")


class Models(Protocol):
    """All open models, and the records and traces of their passes, each computed once."""

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """Return the model that the question names, opening it if necessary. Raises UserError if it does not exist."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the answer to a query."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """Return the answer to its TraceQuery."""


@dataclass(frozen=True)
class TraceQuery:
    """A request for everything from the embeddings to the last block in one query's pass."""

    query: Query

    def answer(self, models: Models, report: Progress) -> Trace:
        """Return the trace of the pass that the query's record comes from."""
        return models.open(self.query, report).trace(self.query, report)


@dataclass(frozen=True)
class LastVectorsQuery:
    """A request for the output of the last block of one kind, at the cost of a plain pass."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> LastVectors:
        """Return the vectors. Raises UserError if the model has no such block or its blocks cannot be identified."""
        opened = models.open(self.query, report)
        done = opened.run(opened.tokens(self.query, report), self.query.edits, report, last=True)
        if self.kind not in done.last:
            raise UserError(f"{opened.card.title} has no block of {self.kind} attention that can be followed here; "
                            f"choose another kind, give a target, or choose a verified model.")
        return LastVectors(done.last[self.kind])
