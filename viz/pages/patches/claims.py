"""Sentences about pictures as sentences, chosen by their numbers."""
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from model.lessons.digit_nets import DigitRun
from model.lessons.patch_sentence import Reading
from viz.claims import first_true, lead
from viz.format import format_share, format_signed

NOTABLE = 0.05   # a difference between mean cosines that is called one


def shuffled(words: dict, moved: int, placed: tuple[Reading, Reading],
             unplaced: tuple[Reading, Reading]) -> dict[str, str]:
    """What is said of a picture and its shuffled copy, read with places and without. moved: how many patches changed
    theirs."""
    first, second = placed
    facts = {"first": first.answer, "second": second.answer, "p_first": first.probabilities.max(),
             "p_second": second.probabilities.max(), "bound": above(logit_difference(*unplaced))}
    case = first_true([(moved < 2, "nothing"), (first.answer == second.answer, "same"), (True, "other")])
    return {"unplaced": words["still" if moved < 2 else "rounding"].format(**facts),
            "placed": words[case].format(**facts), "without": str(unplaced[0].answer)}


def logit_difference(one: Reading, other: Reading) -> float:
    """The largest difference between two readings' logits."""
    return float(np.abs(one.logits - other.logits).max())


def above(number: float) -> str:
    """The power of ten above a number of 0 or more, as 1e-5; of 0 the least that float32 tells from 1."""
    return f"1e{math.floor(math.log10(number)) + 1 if number else -6}"


def halved(words: dict, counted: Mapping[int, Mapping[str, int]], side: int) -> str:
    """What half the side of a patch changes or, where a side has no half, twice the side. counted: by side in pixels,
    as of `patch_sentence.numbers`."""
    case, other = ("half", side // 2) if side % 2 == 0 else ("twice", 2 * side)
    weights = sorted((counted[side]["weights"], counted[other]["weights"]))
    return words[case].format(other=other, factor=weights[1] / weights[0])


def neighbours(rows: int, columns: int) -> np.ndarray:
    """Which places lie side by side, or one above the other, bool (place, place)."""
    down, across = np.divmod(np.arange(rows * columns), columns)
    return np.abs(down[:, None] - down) + np.abs(across[:, None] - across) == 1


def places(words: dict, cosines: np.ndarray, near: np.ndarray) -> str:
    """Whether neighbours are alike. cosines (place, place); near: of `neighbours`."""
    far = ~near & ~np.eye(len(near), dtype=bool)
    means = float(cosines[near].mean()), float(cosines[far].mean())
    case = first_true([(means[0] - means[1] > NOTABLE, "near"), (means[1] - means[0] > NOTABLE, "far"), (True, "even")])
    return words[case].format(near=cosine(means[0]), far=cosine(means[1]))


def cosine(value: float) -> str:
    """A cosine as the page prints it."""
    return format_signed(value, ".2f")


def most_alike(cosines: np.ndarray, place: int) -> int:
    """The other place whose vector is most like that of `place`."""
    others = cosines[place].copy()
    others[place] = -np.inf
    return int(others.argmax())


def ahead(words: dict, runs: Mapping[str, DigitRun], tested: int) -> dict[str, Any]:
    """What is said of the three networks at their end."""
    ends = {kind: float(run.right[-1]) for kind, run in runs.items()}
    leads = lead(ends["convolution"], ends["transformer"], format_share)
    case = {1: "convolution", 0: "even", -1: "transformer"}[leads]
    return {"ahead": words[case].format(tested=tested, **ends), "unplaced": ends["unplaced"],
            "learned": runs["transformer"].learned, "known": runs["convolution"].learned,
            "parameters_convolution": runs["convolution"].parameters,
            "parameters_transformer": runs["transformer"].parameters}
