"""Random tokens twice over: which heads look back one token, which look at what came after the same token last time
(Olsson et al. 2022).

For any decoder: random tokens mean nothing, so that what a head does with them does not come from the text.
"""
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from model.core import heads, tables
from model.core.models import Models, OpenModel
from model.core.query import Edit, Kind, Query, UserError
from model.core.record import AttentionMap
from model.core.types import HeadId, Progress, quiet

if TYPE_CHECKING:
    from pandas import DataFrame

START = "a"  # a text has to begin with something


@dataclass(frozen=True)
class RepeatsQuery:
    """`length` random tokens, all different, then the same again, put to a decoder; `ask` answers it."""

    model: str                             # id
    revision: str                          # of the model
    length: int = 25                       # tokens of the piece that is repeated
    seed: int = 1                          # says which tokens
    edits: frozenset[Edit] = frozenset()   # made inside the model


@dataclass(frozen=True)
class InductionMeanQuery:
    """The mean scores over `draws` random repeats."""

    model: str
    revision: str
    draws: int = 8

    def answer(self, models: Models, report: Progress) -> "InductionScores":
        """The means. Raises UserError for a model that is no decoder on its own."""
        opened = models.open(self, report)
        scores = mean_scores(opened, draws=self.draws, report=report)
        return replace(scores, copying=opened.copying_scores(scores.heads))


@dataclass(frozen=True)
class InductionScores:
    """What every head did with the repeat: one number per head, from 0 to 1 unless said otherwise."""

    heads: tuple[HeadId, ...]           # (layer, head), in the order of the arrays
    previous: np.ndarray                # mean weight of a token on the one before it
    prefix: np.ndarray                  # prefix matching (Olsson et al. 2022): mean weight from a token's second
    #                                     occurrence to the token after its first
    uniform: float                      # what uniform rows would give, about
    copying: np.ndarray | None = None   # whether a head raises what it looks at, -1 to 1 (head_analysis.copying); None
    #                                     for a model that was not trained here

    def frame(self) -> "DataFrame":
        """One row a head: prefix, previous and, where it is known, copying."""
        columns = {"prefix": self.prefix, "previous": self.previous}
        return tables.head_frame(self.heads, columns | ({} if self.copying is None else {"copying": self.copying}))

    @property
    def nbytes(self) -> int:
        """Bytes of the scores."""
        return self.previous.nbytes + self.prefix.nbytes


def ask(question: RepeatsQuery, opened: OpenModel, report: Progress) -> InductionScores:
    """The scores of an open model on the repeat. Raises UserError for a model that is no decoder on its own."""
    return scores(repeated(question, opened, report), question.length)


def repeated(question: RepeatsQuery, opened: OpenModel, report: Progress) -> AttentionMap:
    """The attention of an open model over the repeat. Raises UserError as `ask` does."""
    tokenizer = opened.tokenizer
    if not hasattr(tokenizer, "all_special_ids"):
        raise UserError(f"{opened.card.title} does not write a next token; choose a decoder, such as SmolLM2.")
    usable = sorted(set(range(len(tokenizer))) - set(tokenizer.all_special_ids))
    if question.length > len(usable):
        raise UserError(f"{opened.card.title} has only {len(usable)} different tokens; ask for a repeat of at most as "
                        f"many.")
    chosen = random.Random(question.seed).sample(usable, question.length)
    record = opened.record(Query(question.model, question.revision, START, continuation=(*chosen, *chosen),
                                 edits=question.edits), report)
    if Kind.CAUSAL not in record.kinds or Kind.CROSS in record.kinds:
        raise UserError(f"{opened.card.title} is not a decoder on its own; choose one, such as SmolLM2.")
    return record[Kind.CAUSAL]


def mean_scores(opened: OpenModel, edits: frozenset[Edit] = frozenset(), draws: int = 20,
                report: Progress = quiet) -> InductionScores:
    """The scores as means over several random repeats."""
    drawn = []
    for seed in range(draws):
        report(seed / draws, f"random tokens {seed + 1} of {draws}")
        drawn.append(ask(RepeatsQuery(opened.card.id, opened.card.revision, seed=seed, edits=edits), opened, quiet))
    return InductionScores(drawn[0].heads, np.mean([one.previous for one in drawn], axis=0),
                           np.mean([one.prefix for one in drawn], axis=0), drawn[0].uniform)


def scores(attention_map: AttentionMap, length: int) -> InductionScores:
    """The scores of a causal map whose last 2 · `length` tokens are a piece and its repeat."""
    begin = len(attention_map.queries) - 2 * length
    if begin < 1 or length < 2:
        raise ValueError(f"scores: expected a token, then twice a length of at least 2, got "
                         f"{len(attention_map.queries)} tokens and length {length}; ask through `ask`.")
    previous, prefix = [], []
    second = np.arange(begin + length, begin + 2 * length - 1)  # the last token's follower is not inside the piece
    rows = np.arange(begin, begin + 2 * length)
    for layer in attention_map.layers:
        for head in range(layer.heads):
            weights = heads.weights(layer, head)
            previous.append(weights[rows, rows - 1].mean())
            prefix.append(weights[second, second - length + 1].mean())
    return InductionScores(tables.head_ids(attention_map), np.array(previous), np.array(prefix),
                           float((1 / (second + 1)).mean()))
