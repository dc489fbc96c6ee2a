"""What a head's answers about a relation are worth: accuracy on other sentences, its interval, the fixed offset, luck.

The best of all heads and directions is chosen on the even-numbered sentences and judged on the odd ones, and the other
way round; so is the offset. Of equally good ones the first is chosen: looking from the dependent before looking from
the head, then in the model's order; the smaller offset. Luck is what the best reaches over all sentences when sentences
of equal length exchange their trees: it keeps what a head can know of a relation from places alone, and a sentence
whose length no other has keeps its own tree.
"""
import math
from dataclasses import dataclass

import numpy as np

from model.core.statistics import DRAWS, LEVEL, SEED, MeanInterval, accuracy_intervals
from model.core.types import Progress
from model.studies.syntax.choices import Choices
from model.studies.syntax.counts import DIRECTIONS, Counts, Forest, Pairs, count_right, pairs_of

EXCHANGES = 200     # of trees, for luck
DRAWN = 2**23       # sentences that the bootstrap of one relation draws at most, all its draws together


@dataclass(frozen=True)
class Choice:
    """One head of attention and which word it looks from."""

    direction: str   # of DIRECTIONS: the word that looks
    layer: int       # from 0
    head: int        # in its layer, from 0


@dataclass(frozen=True)
class Luck:
    """What the best of all heads and directions reaches with exchanged trees, 0 to 1."""

    mean: float   # over the exchanges
    high: float   # their 95th percentile


def accuracies(counts: Counts, relation: int) -> np.ndarray:
    """Of every head over all sentences, float64 (direction, head); NaN without a test."""
    n = counts.n[relation].sum()
    return counts.right[relation].sum(0) / n if n else np.full(counts.right.shape[2:], math.nan)


def choice(counts: Counts, number: int) -> Choice:
    """The direction and head of this number, counted over (direction, head)."""
    direction, head = divmod(number, len(counts.heads))
    return Choice(DIRECTIONS[direction], *counts.heads[head])


def chosen(right: np.ndarray) -> tuple[int, int]:
    """The number of the best candidate on even and on odd sentences; right: (half, candidate)."""
    return int(right[0].argmax()), int(right[1].argmax())


def judged(right: np.ndarray, n: np.ndarray) -> float | None:
    """The share of right answers when each half is judged by the candidate that is best on the other; None where a half
    has no test. right: (half, candidate); n: (half)."""
    if not n.all():
        return None
    on_even, on_odd = chosen(right)
    return float((right[0, on_odd] + right[1, on_even]) / n.sum())


def held_out_interval(choices: Choices, trees: Forest, pairs: Pairs, relation: int,
                      numbers: tuple[int, int]) -> MeanInterval:
    """The accuracy of `judged` with its interval over sentences. numbers: of the candidates chosen on even and on odd
    sentences, counted over (direction, head)."""
    answers, sentences = [], []
    for half in (0, 1):
        direction, head = divmod(numbers[1 - half], len(choices.looked))
        some = slice(*np.searchsorted(pairs.group, (2 * relation + half, 2 * relation + half + 1)))
        looking, wanted = ((pairs.dependent, pairs.head_place), (pairs.head, pairs.dependent_place))[direction]
        answers.append(choices.looked[head, looking[some]] == wanted[some])
        sentences.append(trees.sentence[pairs.dependent[some]])
    groups = np.unique(np.concatenate(sentences), return_inverse=True)[1]
    draws = min(DRAWS, DRAWN // (int(groups.max()) + 1))
    return accuracy_intervals(np.concatenate(answers).astype(np.float64)[:, None], groups, draws)[0]


def exchanged(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each sentence, whose tree it gets: one of equal length, int64 (sentence); each is given once."""
    order = np.empty(len(lengths), np.int64)
    order[np.argsort(lengths, kind="stable")] = np.lexsort((rng.random(len(lengths)), lengths))
    return order


def luck(choices: Choices, trees: Forest, names: int, report: Progress) -> list[Luck]:
    """For each of so many relations."""
    rng, best = np.random.default_rng(SEED), np.full((EXCHANGES, names), np.nan)
    for draw in range(EXCHANGES):
        report(draw / EXCHANGES, f"luck: trees exchanged {draw} of {EXCHANGES} times")
        giver = exchanged(choices.lengths, rng)
        words = trees.starts[giver][trees.sentence] + trees.place
        pairs = pairs_of(trees, choices.tree[words], trees.relation[words], choices.placed)
        right = count_right(choices.looked, pairs, 2 * names).reshape(names, 2, -1).sum(1)
        n = np.bincount(pairs.group // 2, minlength=names)
        best[draw, n > 0] = right[n > 0].max(1) / n[n > 0]
    there = np.isfinite(best)
    return [Luck(float(column[some].mean()), float(np.quantile(column[some], LEVEL))) if some.any()
            else Luck(math.nan, math.nan) for column, some in zip(best.T, there.T, strict=True)]


def alone(lengths: np.ndarray) -> int:
    """How many sentences have a length that no other has, so that luck leaves them their own trees."""
    return int((np.unique(lengths, return_counts=True)[1] == 1).sum())
