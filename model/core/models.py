"""What a question may ask of others: open models, and the answers that other questions have already.

A question is a frozen dataclass with `answer(models, report)`. `Models` is implemented by model/ask/sources.py,
`OpenModel` by model/capture/model.py for every network and by model/imported/source.py.
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
    """A query as the network takes it."""

    source: Tokens                      # of the text, the pair or the picture
    target: Tokens | None               # the other side of an encoder–decoder
    tensors: "dict[str, Tensor]"        # arguments of the network's forward: (1, token), or a picture
    omitted: Omission | None            # None where the whole text was read
    notes: tuple[str, ...]              # sentences on what was read otherwise than typed
    picture: np.ndarray | None = None   # uint8 (height, width, 3), what a model of pictures gets

    @property
    def lengths(self) -> tuple[int, int | None]:
        """The numbers of tokens of source and target."""
        return len(self.source), None if self.target is None else len(self.target)


@dataclass(frozen=True, eq=False)
class PassAnswer:
    """What a model says in one pass."""

    kind: str                    # next, mask, target, label or vector
    positions: tuple[int, ...]   # of the tokens at which it answers
    numbers: np.ndarray          # logits, float32 (position, vocabulary), or the sentence vector, float32 (d_model)

    def __post_init__(self) -> None:
        check_finite("in its answer", self.numbers.max(-1))   # a logit of −∞ is a word that is never said


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass gave."""

    outputs: "Callable[[], Tensor]"             # gives logits (row, token, vocabulary), or sentence vectors (row, d)
    answer: Callable[[int], PassAnswer]         # gives what the model says in a row; raises UserError if nothing
    heads: "dict[tuple[Kind, int], Tensor]"     # every head's output (q, head, d_v), by kind and layer
    last: dict[Kind, np.ndarray]                # (t, d_model) that the last block of each kind puts out, if asked for


class Vocabulary(Protocol):
    """The words that a model answers with."""

    @property
    def neutral(self) -> int:
        """The id that replaces a token which is taken away."""

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids that end a text."""

    def name(self, number: int) -> str:
        """Return the word with this id."""

    def number(self, word: str) -> int | None:
        """Return the id of a word, or of its first piece; None for one that the vocabulary lacks."""


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

    Studies are functions over these methods. An imported file has a card and its record only.
    """

    @property
    def card(self) -> Card:
        """What it is."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""

    @property
    def network(self) -> Any:
        """The torch module: of transformers, or our own Transformer."""

    @property
    def tokenizer(self) -> Any:
        """From texts to ids: of transformers, or our own."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it answers with."""

    @property
    def task(self) -> str:
        """What it predicts: next, mask, target, label, vector or none."""

    @property
    def ours(self) -> bool:
        """Whether it is our own Transformer, of a small vocabulary."""

    @property
    def editable(self) -> bool:
        """Whether its passes can be edited; not where it only reports its weights."""

    @property
    def vector_of(self) -> str:
        """The tokens whose vectors a sentence vector is made of: mean or first."""

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as the network takes it."""

    def run(self, asked: ModelInput, edits: frozenset[Edit] = frozenset(), report: Progress = quiet, *,
            every: bool = False, rows: "list[dict[KindHeadId, Tensor]] | None" = None, last: bool = False) -> Pass:
        """Return one captured pass. every: logits of all tokens, where a decoder would only compute the last. rows:
        that many copies of the text, in each of which some heads' outputs (q, d_v) are replaced. last: keep the vectors
        of the last block of each kind."""

    def forward(self, tensors: "dict[str, Tensor]") -> "Tensor":
        """Return logits (row, token, vocabulary) or sentence vectors (row, d) of a plain pass, through which gradients
        flow."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the record of the query's pass."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """Return everything between the embeddings and the last block of the same pass."""


def check_lengths(other: Query, there: int, here: int) -> None:
    """Raise UserError unless both passes have as many tokens on the side that looks."""
    if there != here:
        raise UserError(f"A head's output is taken token by token, and there are {there} tokens in “{other.text[:60]}” "
                        f"and {here} here; choose a text of as many tokens.")


class Models(Protocol):
    """All open models, and the records and traces of their passes, each computed only if it is not there."""

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """Return the model that a question is put to, opened if it is not. Raises UserError for one that is not
        there."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the answer to a query."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """Return the answer to its TraceQuery."""


@dataclass(frozen=True)
class TraceQuery:
    """Everything between the embeddings and the last block of one query's pass."""

    query: Query

    def answer(self, models: Models, report: Progress) -> Trace:
        """Return the trace, of the very pass that the query's record comes from."""
        return models.open(self.query, report).trace(self.query, report)


@dataclass(frozen=True)
class LastVectorsQuery:
    """Only the vectors that the last block of one kind puts out, at the price of a plain pass."""

    query: Query
    kind: Kind

    def answer(self, models: Models, report: Progress) -> LastVectors:
        """Return the vectors. Raises UserError if the model has no such block, or its blocks cannot be told."""
        opened = models.open(self.query, report)
        done = opened.run(opened.tokens(self.query, report), self.query.edits, report, last=True)
        if self.kind not in done.last:
            raise UserError(f"{opened.card.title} has no block of {self.kind} attention that can be followed here; "
                            f"choose another kind, give a target, or choose a verified model.")
        return LastVectors(done.last[self.kind])
