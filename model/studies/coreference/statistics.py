"""What a head's answers over a set are worth: accuracy with its interval, luck, held-out accuracy, baselines. numpy only.

A head answers with the noun that it gives more weight; equal weights count one half. Sentences of one frame are alike, so intervals are drawn
over frames and not over sentences; the best of many heads is a lucky one, so it is compared with the best of as many heads that know nothing.
"""
import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from model.core.types import Span
from model.studies.coreference.cases import Case

DRAWS = 2_000      # of the bootstrap, and of swapped sets
LEVEL = 0.95
SEED = 2019


@dataclass(frozen=True)
class Interval:
    """A share from 0 to 1 with its 95 % interval; low and high are NaN where there is one frame only."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Luck:
    """What the best of all heads reaches when right and wrong are swapped at random, once a pair, jointly over heads, 2,000 times.

    mean, high: the mean and the 95th percentile of that best accuracy. p_value: how often it reaches the best head's, (1 + count) / (1 + draws).
    """

    best: float
    mean: float
    high: float
    p_value: float


@dataclass(frozen=True)
class HeldOut:
    """The accuracy of a head that was chosen without the sentences it is scored on. chosen: the head of each choice, by its number."""

    accuracy: Interval
    chosen: tuple[int, ...]


def right(weights: np.ndarray) -> np.ndarray:
    """1 where the right noun gets more weight, 0 where the wrong one does, 0.5 where they get the same: float64 (case, head) of (case, head, 2)."""
    return (np.sign(weights[..., 0].astype(np.float64) - weights[..., 1]) + 1) / 2


def frames_of(cases: tuple[Case, ...]) -> np.ndarray:
    """The number of each case's frame, int (case); its pair's where the set names no frames."""
    return _numbered([case.frame or case.pair for case in cases])


def pairs_of(cases: tuple[Case, ...]) -> np.ndarray:
    """The number of each case's pair, int (case)."""
    return _numbered([case.pair for case in cases])


def _numbered(names: list[str]) -> np.ndarray:
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] for name in names])


def _sums(numbers: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sums over the cases of each group: (group, …) of (case, …)."""
    total = np.zeros((groups.max() + 1, *numbers.shape[1:]))
    np.add.at(total, groups, numbers)
    return total


def intervals(correct: np.ndarray, frames: np.ndarray, draws: int = DRAWS) -> list[Interval]:
    """Accuracy of each column of `correct` (case, head), with the expanded percentile interval of a bootstrap over frames.

    Frames are drawn with replacement; the percentiles are widened for few frames (Hesterberg 2015, section 5.3: z becomes
    t √(n / (n - 1)) with n frames). Where every frame has the same share, which no drawing can widen, the exact bound for n frames stands in
    (Clopper and Pearson 1934).
    """
    sums, sizes = _sums(correct, frames), np.bincount(frames)
    values, count = correct.mean(0), len(sizes)
    if count < 2:
        return [Interval(float(value), math.nan, math.nan) for value in values]
    chosen = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), draws)
    drawn = chosen @ sums / (chosen @ sizes)[:, None]
    tail = NormalDist().cdf(-t_quantile(1 - (1 - LEVEL) / 2, count - 1) * math.sqrt(count / (count - 1)))
    low, high = np.quantile(drawn, (tail, 1 - tail), axis=0)
    exact = ((1 - LEVEL) / 2) ** (1 / count)
    low, high = np.where(values == 1, exact, low), np.where(values == 0, 1 - exact, high)
    return [Interval(*map(float, each)) for each in zip(values, low, high)]


def t_quantile(p: float, degrees: int) -> float:
    """Student's t: exact for 1 and 2 degrees of freedom, else by its expansion about the normal (Abramowitz and Stegun 26.7.5)."""
    if degrees == 1:
        return math.tan(math.pi * (p - 0.5))
    if degrees == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    z = NormalDist().inv_cdf(p)
    return (z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
            + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * degrees**4))


def best(correct: np.ndarray, weights: np.ndarray) -> int:
    """The number of the most accurate head; of equal ones that with more weight on both nouns. weights: (case, head, 2)."""
    return int(np.lexsort((weights.sum(-1).mean(0), correct.mean(0)))[-1])


def luck(correct: np.ndarray, pairs: np.ndarray, draws: int = DRAWS) -> Luck:
    """How far the best head of `correct` (case, head) is beyond what the best of as many heads that know nothing would reach."""
    leaning = _sums(correct - 0.5, pairs)
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), (draws, len(leaning)))
    swapped = 0.5 + (signs @ leaning).max(1) / len(correct)
    reached = float(correct.mean(0).max())
    return Luck(reached, float(swapped.mean()), float(np.quantile(swapped, 0.95)), float((1 + (swapped >= reached - 1e-9).sum()) / (1 + draws)))


def halves(frames: np.ndarray, names: list[str]) -> np.ndarray:
    """Which half each case belongs to, bool (case): whole frames, in an order given by a hash of their names, the smaller half filled first."""
    sizes, order = np.bincount(frames), np.argsort([hashlib.blake2b(name.encode("utf-8", "surrogatepass")).hexdigest() for name in names])
    filled, half = [0, 0], np.zeros(len(sizes), bool)
    for frame in order:
        half[frame] = filled[1] < filled[0]
        filled[int(half[frame])] += sizes[frame]
    return half[frames]


def held_out(correct: np.ndarray, weights: np.ndarray, frames: np.ndarray, half: np.ndarray) -> HeldOut | None:
    """Each half scored by the head that was best on the other; both together. None where there is one frame only."""
    if half.all() or not half.any():
        return None
    chosen = tuple(best(correct[part], weights[part]) for part in (half, ~half))
    scored = np.where(half, correct[:, chosen[1]], correct[:, chosen[0]])
    return HeldOut(intervals(scored[:, None], frames)[0], chosen)


def nearest(cases: tuple[Case, ...]) -> np.ndarray:
    """Whether the right noun is the nearer one to the pronoun, in characters: float64 (case), 0.5 where both are as near."""
    return _compared([[-_gap(case.pronoun, span) for span in (case.correct, case.wrong)] for case in cases])


def first(cases: tuple[Case, ...]) -> np.ndarray:
    """Whether the right noun stands first: float64 (case)."""
    return _compared([[-case.correct[0], -case.wrong[0]] for case in cases])


def _gap(one: Span, other: Span) -> int:
    return max(one[0] - other[1], other[0] - one[1])


def _compared(numbers: list[list[int]]) -> np.ndarray:
    return right(np.array(numbers, float))
