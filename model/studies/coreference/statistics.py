"""What a head's answers over a set are worth: which are right, accuracy on other sentences, baselines. numpy only.

A head answers with the noun that it gives more weight; equal weights count one half. Sentences of one frame are alike,
so intervals are drawn over frames and not over sentences; the best of many heads is a lucky one, so it is compared with
the best of as many heads that know nothing (both in model/core/statistics.py). """
import hashlib
from dataclasses import dataclass

import numpy as np

from model.core.statistics import MeanInterval, accuracy_intervals
from model.core.types import Span
from model.studies.coreference.cases import Case


@dataclass(frozen=True)
class HeldOut:
    """The accuracy of a head that was chosen without the sentences it is scored on. chosen: the head of each choice, by
    its number."""

    accuracy: MeanInterval
    chosen: tuple[int, ...]


def correctness(weights: np.ndarray) -> np.ndarray:
    """1 where the right noun gets more weight, 0 where the wrong one does, 0.5 where they get the same: float64 (case,
    head) of (case, head, 2)."""
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


def best(correct: np.ndarray, weights: np.ndarray) -> int:
    """The number of the most accurate head; of equal ones that with more weight on both nouns. weights: (case, head,
    2)."""
    return int(np.lexsort((weights.sum(-1).mean(0), correct.mean(0)))[-1])


def split_halves(frames: np.ndarray, names: list[str]) -> np.ndarray:
    """Which half each case belongs to, bool (case): whole frames, in an order given by a hash of their names, the
    smaller half filled first."""
    sizes, order = np.bincount(frames), np.argsort([hashlib.blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()
                                                    for name in names])
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
    return HeldOut(accuracy_intervals(scored[:, None], frames)[0], chosen)


def nearest_noun_baseline(cases: tuple[Case, ...]) -> np.ndarray:
    """Whether the right noun is the nearer one to the pronoun, in characters: float64 (case), 0.5 where both are as
    near."""
    return _compared([[-_gap(case.pronoun, span) for span in (case.correct, case.wrong)] for case in cases])


def first_noun_baseline(cases: tuple[Case, ...]) -> np.ndarray:
    """Whether the right noun stands first: float64 (case)."""
    return _compared([[-case.correct[0], -case.wrong[0]] for case in cases])


def _gap(one: Span, other: Span) -> int:
    return max(one[0] - other[1], other[0] - one[1])


def _compared(numbers: list[list[int]]) -> np.ndarray:
    return correctness(np.array(numbers, float))
