"""The interfaces that questions use: open models and the answers to other questions.

A question is a frozen dataclass with `answer(models, report)`. `Models` is implemented by model/ask/desk.py;
`OpenModel` by model/capture/model.py for every network and by model/imported/source.py for imported files.
"""
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from clearhead.model.core.query import (
    Edit,
    Kind,
    KindHeadId,
    Progress,
    Query,
    UserError,
    check_finite,
    counted,
    errors_at,
    frozen,
    pictures_only,
    quiet,
    text_only,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord, Card, Omission
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.traces import Trace

if TYPE_CHECKING:
    from torch import Tensor


@with_arrays
class ModelInput:
    """A query as the network's input."""

    source: Tokens                      # tokens of the text, pair or picture
    target: Tokens | None               # the other side of an encoder–decoder, or a text that attends to a picture
    tensors: "dict[str, Tensor]"        # arguments of the network's forward: (1, token), or a picture
    omitted: Omission | None            # None if the whole text was read
    notes: tuple[str, ...]              # sentences on differences between the typed and the tokenized text
    picture: np.ndarray | None = None   # uint8 (height, width, 3), the input of a vision model
    written: str | None = None          # the part that the model generated

    @property
    def continued(self) -> Tokens:
        """The tokens that a decoder continues."""
        return self.target or self.source

    @property
    def lengths(self) -> tuple[int, int | None]:
        """The numbers of source and target tokens."""
        return len(self.source), None if self.target is None else len(self.target)


@with_arrays
class PassAnswer:
    """A model's answer in one pass."""

    kind: str                    # next, mask, target, label or vector
    positions: tuple[int, ...]   # positions at which it answers
    numbers: np.ndarray          # logits, float32 (position, vocabulary), or the sentence vector, float32 (d_model)

    def __post_init__(self) -> None:
        check_finite("in its answer", self.numbers.max(-1))   # a logit of −∞ marks a word that is never predicted


@with_arrays
class Pass:
    """The result of one pass."""

    outputs: "Callable[[], Tensor]"             # returns logits (row, token, vocabulary) or sentence vectors (row, d)
    answer: Callable[[int], PassAnswer]         # returns the answer for a row; raises UserError if there is none
    heads: "dict[tuple[Kind, int], Tensor]"     # every head's output (q, head, d_v), by kind and layer


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

    def find(self, text: str) -> list[int]:
        """Return the ids of a text's tokens as an answer: one if it is one token, [] if the vocabulary lacks it."""


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
    def kinds(self) -> frozenset[Kind]:
        """The kinds of attention that can be edited; none if the model only reports its weights."""

    @property
    def vector_of(self) -> str:
        """How the sentence vector is formed: "mean" of all tokens, or "first" token."""

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as the network's input."""

    def run(self, asked: ModelInput, edits: frozenset[Edit] = frozenset(), report: Progress = quiet, *,
            every: bool = False, position: int | None = None,
            rows: "list[dict[KindHeadId, Tensor]] | None" = None) -> Pass:
        """Run one captured pass.

        every: compute logits of all tokens, where a decoder may only compute those of `position`, by default the last.
        With a position, no heads' outputs are kept.
        rows: run one copy of the text per entry, with the outputs (q, d_v) of some heads replaced; every copy has the
        edits, too.
        """

    def forward(self, tensors: "dict[str, Tensor]") -> "Tensor":
        """Return logits (row, token, vocabulary) or sentence vectors (row, d) of a plain, differentiable pass."""

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return at most this many ids with which the model continues the query greedily, or its target, an end token
        included."""

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the text of token ids that the model reads."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the record of the query's pass."""

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = (),
              record: AttentionRecord | None = None) -> Trace:
        """Return the trace of the same pass, from the embeddings to the last block. If tokens are given, it may hold
        these alone. record: the query's record, if known. Raises UserError if all of it takes too much memory."""


def query_of(opened: OpenModel, ids: Sequence[int]) -> Query:
    """Return the query of token ids, read as they are."""
    return Query(opened.card.id, opened.card.revision, opened.spelled(ids), ids=tuple(ids))


def check_lengths(other: Query, there: int, here: int) -> None:
    """Raise UserError unless both passes have the same number of tokens on the query side."""
    if there != here:
        raise UserError(f"A head's output is copied token by token, but there are {there} tokens in "
                        f"“{other.text[:60]}” and {here} here; choose a text with the same number of tokens.")


@frozen
class Located:
    """A model that can be opened: what identifies it, and what it reads."""

    id: str                                # in queries
    revision: str = ""                     # the fingerprint of everything that may change an answer
    # inputs besides a text: text_b or target, and chat if there is a chat template; image for vision models, text if
    # they also read texts, and prompt if a picture is part of the text
    reads: frozenset[str] = frozenset()

    def current(self, run: bool = False) -> "Located":
        """Return this model with its current revision, which changes only for a model in memory. run: whether to find
        out by a pass, too."""
        return self

    def open(self, report: Progress = quiet) -> OpenModel:
        """Return the model, ready to answer. Raises UserError if it cannot be opened."""
        raise NotImplementedError

    def wrong_input(self) -> UserError:
        """Return the error for a picture given to a model that reads texts, or the reverse."""
        return pictures_only(self.id) if "image" in self.reads else text_only(self.id)


class Models(Protocol):
    """All open models, and the records and traces of their passes, each computed once."""

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """Return the model that the question names, opening it if necessary. Raises UserError if it does not exist."""

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the answer to a query."""

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = ()) -> Trace:
        """Return the answer to its TraceQuery; if tokens are given, one that holds blocks of tokens around them."""


A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Question(Hashable, Protocol[A_co]):
    """A frozen value that can be asked: in the library it answers itself, the app asks it through its queue."""

    def answer(self, models: Models, report: Progress) -> A_co:
        """Return the answer. Raises UserError if there is none."""


@frozen
class ModelQuestion:
    """A question about a model."""

    model: str      # the model's id
    revision: str   # the fingerprint of its weights, configuration and tokenizer

    def records(self, texts: Sequence[tuple[str, str]], models: Models, report: Progress) -> Iterator[AttentionRecord]:
        """Yield the record of each text, given with its place, such as "line 3". Raises UserError with the place of a
        text that the model cannot read."""
        opened = models.open(self, report)
        for _, (text, place) in counted(texts, report, "sentence"):
            with errors_at(place):
                record = opened.record(Query(self.model, self.revision, text), quiet)
            yield record


@frozen
class MapQuestion:
    """A question about the attention of one kind in the record of a query."""

    query: Query
    kind: Kind

    def attention_map(self, models: Models, report: Progress) -> AttentionMap:
        """Return that attention."""
        return models.record(self.query, report)[self.kind]


@frozen
class TraceQuery:
    """A request for everything from the embeddings to the last block in one query's pass."""

    query: Query
    tokens: tuple[int, ...] = ()   # the tokens that the trace must hold, in each stack that has them; () for all

    def answer(self, models: Models, report: Progress) -> Trace:
        """Return the trace of the pass that the query's record comes from. Questions about tokens have that record; one
        from disk is of an earlier pass."""
        opened = models.open(self.query, report)
        record = models.record(self.query, report) if self.tokens else None
        known = record if record is not None and record.verification.status != "kept" else None
        return opened.trace(self.query, report, self.tokens, known)
