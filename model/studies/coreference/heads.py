"""The test of "it": how much each head's row of the pronoun gives to the right and to the wrong noun, for one sentence
or for a set.

Pieces of a word are summed where it is looked at and averaged where it looks (Clark et al. 2019, section 4.1). What the
numbers of a set are worth is in `model.studies.coreference.statistics`. """
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.masks import Mask
from model.core.models import Models, OpenModel
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionMap, AttentionRecord, Tokens
from model.core.tables import head_ids
from model.core.types import KindHeadId, Progress, Span, quiet
from model.studies.coreference.cases import Case


@dataclass(frozen=True)
class CasesQuery:
    """A set of cases put to one model."""

    model: str
    revision: str
    cases: tuple[Case, ...]

    def answer(self, models: Models, report: Progress) -> "SetAnswer":
        """The weights of every head. Raises UserError where a case's words are not read."""
        return run(self, models.open(self, report), report)


@dataclass(frozen=True)
class Words:
    """Where a case stands among the tokens: the pieces of the pronoun and of the two candidates, and the last piece
    that was read."""

    pronoun: tuple[int, ...]
    correct: tuple[int, ...]
    wrong: tuple[int, ...]
    last: int


@dataclass(frozen=True, eq=False)
class NounWeights:
    """What the heads of one kind do in one sentence: the weight to the right and to the wrong noun, pieces summed,
    float32 (head, 2)."""

    heads: tuple[KindHeadId, ...]   # in the order of the arrays
    pronoun: np.ndarray             # from the pronoun
    later: np.ndarray               # mean over the tokens behind it
    received: np.ndarray            # mean over all tokens but the pronoun and the noun itself


@dataclass(frozen=True, eq=False)
class SetAnswer:
    """`NounWeights` of a set, float32 (case, head, 2) each."""

    query: CasesQuery               # the cases and the model
    heads: tuple[KindHeadId, ...]   # in the order of the arrays
    pronoun: np.ndarray             # from the pronoun
    later: np.ndarray               # from the tokens behind it
    received: np.ndarray            # from all other tokens
    unknown: int                    # sentences with a word that the vocabulary lacks

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.pronoun.nbytes + self.later.nbytes + self.received.nbytes

    @property
    def reads_left_to_right(self) -> bool:
        """Whether all these heads are those of a decoder."""
        return all(kind is Kind.CAUSAL for kind, _, _ in self.heads)


def pieces(tokens: Tokens, span: Span) -> tuple[int, ...]:
    """The tokens of the first text that share a character with the span."""
    return tuple(token for token, (start, end) in enumerate(tokens.spans)
                 if tokens.segments[token] == 0 and start < span[1] and span[0] < end)


def words_of(tokens: Tokens, case: Case) -> Words:
    """Where the case's words stand. Raises UserError where one of them was not read, because the text was too long for
    the model."""
    found = [pieces(tokens, span) for span in (case.pronoun, case.correct, case.wrong)]
    for name, each in zip(("pronoun", "correct", "wrong"), found):
        if not each:
            raise UserError(f"The model does not read as far as {case.word(name)!r} in {case.sentence[:60]!r}; shorten "
                            f"the sentence.")
    pronoun, correct, wrong = found
    return Words(pronoun, correct, wrong, max(token for token in range(len(tokens)) if tokens.segments[token] == 0))


def map_of(record: AttentionRecord) -> AttentionMap:
    """The attention of the sentence over itself. Raises UserError for a model that has none."""
    for kind in (Kind.SELF, Kind.CAUSAL):
        if kind in record.kinds:
            return record[kind]
    raise UserError(f"{record.card.title} has no attention of a sentence over itself; choose another model.")


def noun_weights(attention_map: AttentionMap, words: Words) -> NounWeights:
    """The weights of every head. Only `received` needs more than a few rows."""
    behind = list(range(max(words.pronoun) + 1, words.last + 1)) or list(words.pronoun)
    rows: dict[str, list[np.ndarray]] = {"pronoun": [], "later": [], "received": []}
    for layer in attention_map.layers:
        weights = np.zeros(layer.shape, np.float32)
        for block, keys, numbers in heads.weight_blocks(layer):
            weights[:, block, keys] = numbers
        rows["pronoun"].append(_to(weights, words.pronoun, words))
        rows["later"].append(_to(weights, behind, words))
        rows["received"].append(_received(weights, layer.allowed, words))
    heads_of_kind = tuple((attention_map.kind, *head) for head in head_ids(attention_map))
    return NounWeights(heads_of_kind, **{name: np.concatenate(row) for name, row in rows.items()})


def _to(weights: np.ndarray, rows: Sequence[int], words: Words) -> np.ndarray:
    """(head, 2): the mean over these rows of the summed weight to each candidate."""
    part = weights[:, list(rows)]
    return np.stack([part[:, :, list(candidate)].sum(-1).mean(-1) for candidate in (words.correct, words.wrong)],
                    axis=-1)


def _received(weights: np.ndarray, allowed: Mask, words: Words) -> np.ndarray:
    """(head, 2): the mean weight that each candidate gets from the tokens that may look at it, without the pronoun and
    the candidate itself."""
    count = weights.shape[1]
    got = np.zeros((len(weights), 2), np.float32)
    for place, candidate in enumerate((words.correct, words.wrong)):
        may = allowed.block(slice(0, count), slice(max(candidate), max(candidate) + 1))
        may = may.reshape(-1, count)[0]
        rows = [row for row in range(count) if may[row] and row not in words.pronoun and row not in candidate]
        if rows:
            got[:, place] = weights[:, rows][:, :, list(candidate)].sum(-1).mean(-1)
    return got


def run(question: CasesQuery, model: OpenModel, report: Progress) -> SetAnswer:
    """Every case put to an open model, one after the other. `report` may end it."""
    found, unknown = [], 0
    for number, case in enumerate(question.cases):
        report(number / len(question.cases), f"sentence {number + 1} of {len(question.cases)}")
        record = model.record(Query(question.model, question.revision, case.sentence), quiet)
        attention_map = map_of(record)
        unknown += any(attention_map.queries.unknown)
        found.append(noun_weights(attention_map, words_of(attention_map.queries, case)))
    stacked = {name: np.stack([getattr(each, name) for each in found]) for name in ("pronoun", "later", "received")}
    return SetAnswer(question, found[0].heads, **stacked, unknown=unknown)
