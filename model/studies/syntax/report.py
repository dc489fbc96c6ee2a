"""Do heads follow grammar? Every relation of a treebank: the best head on other sentences, against a fixed offset and
against luck.

How the test is read where more than one reading is possible:

- A form is looked for in the text behind the form before it. A model's piece that shares a character with two words
  (the "don" of "do" and "n't") is a piece of both. A relation of a word without any piece is left out, as one of a word
  without a place is. Roots are no relation; subtypes are cut off.
- Sentences are numbered in the file from 0, those left out counted; the `sentences` of an answer are those that were
  read.
- One relation is one test in each direction. Looking from a head with several dependents of one relation, at most one
  of these tests can be right.
- An offset is the number of the head minus that of the dependent, among all words of the tree. Both directions of an
  offset are one baseline.
- Of equally good ones the first is chosen (see `statistics`); of two words with equal weights the earlier one.
- A relation that stands in one half only has a best head and no accuracy on other sentences.
- Luck is the mean over exchanges of what the best of all heads and directions reaches over all sentences; the interval
  is `accuracy_intervals` of model/core/statistics.py over the sentences that have the relation.
"""
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core import tables
from model.core.limits import LIMITS
from model.core.models import Models, OpenModel
from model.core.query import Query, UserError
from model.core.statistics import MeanInterval
from model.core.types import Progress, quiet
from model.studies.syntax import statistics
from model.studies.syntax.choices import Choices, choices_of, join, left_out
from model.studies.syntax.counts import DIRECTIONS, Counts, Forest, Pairs, counts_of, forest, names_of, pairs_of
from model.studies.syntax.statistics import Choice, Luck
from model.studies.syntax.treebank import Sentence
from model.studies.syntax.words import spans_of

if TYPE_CHECKING:
    from pandas import DataFrame

READING = 0.9   # share of the work that is the model's


@dataclass(frozen=True)
class SyntaxQuery:
    """The sentences of a treebank put to one model."""

    model: str
    revision: str
    sentences: tuple[Sentence, ...]    # of the whole file, in its order
    relations: tuple[str, ...] = ()    # that are asked about; all that the trees have unless given

    def answer(self, models: Models, report: Progress) -> "SyntaxReport":
        """What every head makes of every relation. Raises UserError, with the line, for a sentence that the model
        refuses, and where no sentence is left or none of the trees has a relation."""
        return run(self, models.open(self, report), report)


@dataclass(frozen=True)
class RelationScore:
    """What heads make of one relation; accuracies from 0 to 1."""

    name: str
    n: int                            # tests: pairs of a dependent and its head
    held_out: MeanInterval | None     # of heads chosen on other sentences; None where one half has no test
    offset: float | None              # the best fixed offset's accuracy, chosen and judged in the same way
    luck: Luck                        # the best of all heads and directions with exchanged trees
    chosen: tuple[Choice, ...]        # on even-numbered sentences, and on odd ones; () as held_out
    best: Choice                      # over all sentences
    accuracy: float                   # of the best over all sentences
    possible: tuple[float, float]     # share of the tests that the mask allows, by DIRECTIONS


@dataclass(frozen=True, eq=False)
class SyntaxReport:
    """The answer to a SyntaxQuery."""

    query: SyntaxQuery                     # what was asked
    relations: tuple[RelationScore, ...]   # the most frequent first
    counts: Counts                         # behind them
    choices: Choices                       # of every head from every word
    alone: int                             # sentences without another of their length: luck leaves them their trees

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.counts.nbytes + self.choices.nbytes

    def named(self, name: str) -> RelationScore:
        """The relation of this name. Raises KeyError where there is none."""
        for score in self.relations:
            if score.name == name:
                return score
        raise KeyError(name)

    def frame(self) -> "DataFrame":
        """One row a relation: n, held_out with low and high, offset, luck with luck_high, the best one's direction,
        layer, head and accuracy, and possible_dependent and possible_head; numbers that do not exist are NaN."""
        from pandas import DataFrame

        return DataFrame([_row(score) for score in self.relations]).set_index("relation")

    def heads(self, name: str) -> "DataFrame":
        """One row a head: its accuracy on this relation over all sentences, looking from the dependent and looking from
        the head. Raises KeyError where there is no such relation."""
        numbers = statistics.accuracies(self.counts, self.counts.names.index(self.named(name).name))
        return tables.head_frame(self.counts.heads, dict(zip(DIRECTIONS, numbers, strict=True)))


def _row(score: RelationScore) -> dict:
    held_out = score.held_out or MeanInterval(math.nan, math.nan, math.nan, 0)
    return {"relation": score.name, "n": score.n, "held_out": held_out.value, "low": held_out.low,
            "high": held_out.high, "offset": math.nan if score.offset is None else score.offset,
            "luck": score.luck.mean, "luck_high": score.luck.high, "from": score.best.direction,
            "layer": score.best.layer, "head": score.best.head, "accuracy": score.accuracy,
            **{f"possible_{name}": share for name, share in zip(DIRECTIONS, score.possible, strict=True)}}


def run(question: SyntaxQuery, model: OpenModel, report: Progress) -> SyntaxReport:
    """Every sentence put to an open model, one after the other. `report` may end it."""
    parts, size, count = [], 0, len(question.sentences)
    for number, sentence in enumerate(question.sentences):
        report(READING * number / count, f"sentence {number + 1} of {count}")
        parts.append(_one(question, model, number, sentence))
        size += parts[-1].looked.nbytes
        LIMITS.refuse_above("choices_bytes", size, "the answer", "take fewer sentences")
    return summary(question, join(parts), lambda done, text: report(READING + (1 - READING) * done, text))


def _one(question: SyntaxQuery, model: OpenModel, number: int, sentence: Sentence) -> Choices:
    if spans_of(sentence) is None:
        return left_out(not_found=1)   # and the model is not asked
    try:
        record = model.record(Query(question.model, question.revision, sentence.text), quiet)
    except UserError as error:
        raise UserError(f"line {sentence.line}: {error}") from error
    return choices_of(record, sentence, number)


def summary(question: SyntaxQuery, choices: Choices, report: Progress) -> SyntaxReport:
    """What the choices are worth. Raises UserError where there is nothing to test."""
    if not len(choices.numbers):
        raise UserError(f"None of the {len(question.sentences):,} sentences can be tested: in {choices.not_found:,} a "
                        f"form is not in the text, {choices.too_long:,} are longer than the model reads; give others.")
    there = names_of(choices)
    unknown = [name for name in question.relations if name not in there]
    if unknown or not there:
        raise UserError(f"No tree has the relation {unknown[0] if unknown else 'of a word to another'}; there are "
                        f"{', '.join(there) or 'none'}.")
    counts = counts_of(choices, question.relations)
    trees = forest(choices, counts.names)
    pairs = pairs_of(trees, choices.tree, trees.relation, choices.placed)
    if not len(pairs.group):
        raise UserError(f"None of the {counts.unplaced:,} relations can be tested, because a word has no place in its "
                        f"text or the model no piece for it; give other sentences.")
    lucky = statistics.luck(choices, trees, len(counts.names), report)
    scores = [_score(choices, trees, pairs, counts, relation, lucky[relation])
              for relation in np.argsort(-counts.n.sum(1), kind="stable").tolist() if counts.n[relation].any()]
    return SyntaxReport(question, tuple(scores), counts, choices, statistics.alone(choices.lengths))


def _score(choices: Choices, trees: Forest, pairs: Pairs, counts: Counts, relation: int, luck: Luck) -> RelationScore:
    n, right = counts.n[relation], counts.right[relation].reshape(2, -1)
    held_out: MeanInterval | None = None
    chosen: tuple[Choice, ...] = ()
    if n.all():
        numbers = statistics.chosen(right)
        held_out = statistics.held_out_interval(choices, trees, pairs, relation, numbers)
        chosen = tuple(statistics.choice(counts, number) for number in numbers)
    best = int(right.sum(0).argmax())
    possible = counts.possible[relation].sum(0) / n.sum()
    return RelationScore(counts.names[relation], int(n.sum()), held_out, statistics.judged(counts.near[relation], n),
                         luck, chosen, statistics.choice(counts, best), float(right.sum(0)[best] / n.sum()),
                         (float(possible[0]), float(possible[1])))
