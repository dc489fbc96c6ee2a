"""Sentences about positions, chosen by their numbers."""
from typing import Any

import numpy as np

from viz.claims import first_true
from viz.format import format_number

ROUNDING = 1e-9   # of a vector's length: what a change below it is


def shuffled(words: dict, moved: np.ndarray, order: tuple[int, ...], scheme: str, causal: bool,
             apart: float) -> dict[str, Any]:
    """What is said of the shuffle. moved: how far each word's output moved, as a share of its length; apart: how far
    the outputs lie from their mean."""
    blind = scheme == "none" and not causal
    still = first_true([(list(order) == sorted(order), "unmoved"), (moved.min() >= ROUNDING, "all"),
                        (moved.max() >= ROUNDING, "some"), (blind, "same"), (True, "here")])
    hint = first_true([(blind, "blind"), (scheme == "none", "mask"), (True, "told")])
    return {"most": float(moved.max()), "least": float(moved.min()), "verdict": words["verdicts"][still],
            "apart": words["apart"]["blind" if blind else "told"].format(apart=apart), "hint": words["hints"][hint]}


def falls(words: dict, mean: np.ndarray) -> str:
    """How the mean similarity goes on, from distance 0 to the farthest drawn; a rise is one in the printed digits."""
    printed = np.round(mean[:1 + 3 * (len(mean) + 1) // 4], 3)
    steps = np.diff(printed)
    if not (steps > 0).any():
        return words["falls" if (steps < 0).all() else "falls_or_stays"]
    first = int((steps > 0).argmax())
    return words["rises"].format(first=first, then=first + 1, low=printed[first], high=printed[first + 1])


def compared(back: int, waves: bool) -> str:
    """Which sentence is true of the dashed line: that of a turn, of none, or that there is no such line."""
    return first_true([(not waves, "learned"), (back == 0, "straight"), (True, "turned")])


def alibi(words: dict, slopes: np.ndarray) -> dict[str, Any]:
    """What is said of ALiBi's slopes (head)."""
    case = "one" if len(slopes) == 1 else "some"
    numbers = {"heads": len(slopes), "first": slopes[0], "last": slopes[-1],
               "near": format_number(np.log(2) / slopes[0]), "far": format_number(np.log(2) / slopes[-1])}
    return numbers | {"slopes": words["slopes"][case].format(**numbers), "so": words["so"][case]}
