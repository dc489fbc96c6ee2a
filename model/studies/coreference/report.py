"""Everything that a set says about a model's heads, in one value: what the page shows and what the command line
prints."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core import tables
from model.core.statistics import Luck, MeanInterval, accuracy_intervals, max_statistic_null
from model.core.types import KindHeadId
from model.studies.coreference import statistics
from model.studies.coreference.cases import Case
from model.studies.coreference.heads import SetAnswer
from model.studies.coreference.statistics import HeldOut

if TYPE_CHECKING:
    from pandas import DataFrame

CHANCE = 0.5


@dataclass(frozen=True)
class HeadScore:
    """One head over a set."""

    kind: str                # of its attention
    layer: int               # from 0
    head: int                # from 0
    accuracy: MeanInterval   # how often the right noun gets more weight
    mass: float              # mean weight on both nouns together
    both: float              # share of twins that are both right: 0 for one noun always, 0.25 for guessing; NaN without
    received: float          # accuracy by the weight that it gives the nouns from everywhere else


@dataclass(frozen=True)
class Report:
    """What a set says about a model's heads."""

    cases: tuple[Case, ...]          # of the set
    n: int                           # sentences
    pairs: int                       # of twins, and single sentences
    frames: int                      # situations
    rows: str                        # that were read: pronoun or later
    heads: tuple[HeadScore, ...]     # in the model's order
    best: HeadScore                  # the most accurate head
    held_out: HeldOut | None         # accuracy of heads chosen on other sentences; None for one frame
    luck: Luck                       # the best of as many heads that know nothing
    baselines: Mapping[str, float]   # {chance, nearest, first, received: accuracy}

    def named(self, number: int) -> HeadScore:
        """The head of this number, as `held_out` gives it."""
        return self.heads[number]

    def frame(self) -> "DataFrame":
        """One row a head, the most accurate first and of equals the one with more mass: accuracy with its interval, low
        and high, then mass, both and received as in `HeadScore`."""
        numbers = np.array([(head.accuracy.value, head.accuracy.low, head.accuracy.high, head.mass, head.both,
                             head.received) for head in self.heads])
        columns = dict(zip(("accuracy", "low", "high", "mass", "both", "received"), numbers.T, strict=True))
        frame = tables.head_frame([(head.layer, head.head) for head in self.heads], columns)
        return frame.sort_values(["accuracy", "mass"], ascending=False, kind="stable")


def report(answer: SetAnswer, rows: str = "pronoun", select: SetAnswer | None = None) -> Report:
    """The report on one set. With `select` the held-out head is the best one of that set; without, of the other half of
    this one.

    Raises ValueError if the two sets were not put to the same model.
    """
    if select is not None and (select.heads, select.query.revision) != (answer.heads, answer.query.revision):
        raise ValueError("report: expected both sets answered by the same model; ask the model for both.")
    cases, weights = answer.query.cases, getattr(answer, rows)
    correct, frames, pairs = statistics.correctness(weights), statistics.frames_of(cases), statistics.pairs_of(cases)
    scores = _scores(answer.heads, weights, correct, statistics.correctness(answer.received).mean(0), frames, pairs)
    best = statistics.best(correct, weights)
    names = list(dict.fromkeys(case.frame or case.pair for case in cases))
    held_out = (statistics.held_out(correct, weights, frames, statistics.split_halves(frames, names)) if select is None
                else _selected(getattr(select, rows), correct, frames))
    return Report(cases, len(cases), int(pairs.max()) + 1, int(frames.max()) + 1, rows, scores, scores[best], held_out,
                  max_statistic_null(correct, pairs),
                  {"chance": CHANCE, "nearest": float(statistics.nearest_noun_baseline(cases).mean()),
                   "first": float(statistics.first_noun_baseline(cases).mean()), "received": scores[best].received})


def _scores(heads: tuple[KindHeadId, ...], weights: np.ndarray, correct: np.ndarray, received: np.ndarray,
            frames: np.ndarray, pairs: np.ndarray) -> tuple[HeadScore, ...]:
    mass, both, intervals = weights.sum(-1).mean(0), both_right(correct, pairs), accuracy_intervals(correct, frames)
    return tuple(HeadScore(kind.value, layer, head, intervals[i], float(mass[i]), float(both[i]), float(received[i]))
                 for i, (kind, layer, head) in enumerate(heads))


def _selected(weights: np.ndarray, correct: np.ndarray, frames: np.ndarray) -> HeldOut:
    chosen = statistics.best(statistics.correctness(weights), weights)
    return HeldOut(accuracy_intervals(correct[:, [chosen]], frames)[0], (chosen,))


def both_right(correct: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The share of pairs of two whose members are both right, float64 (head); NaN where no case has a twin."""
    twins = np.flatnonzero(np.bincount(pairs) == 2)
    if not len(twins):
        return np.full(correct.shape[1], np.nan)
    return np.mean([(correct[pairs == pair] == 1).all(0) for pair in twins], axis=0)
