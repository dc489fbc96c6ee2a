"""What the lesson says of its numbers: the case that holds, by the digits that are printed."""
from collections.abc import Sequence

import numpy as np

from viz.claims import as_printed, first_true, rank
from viz.format import format_weight

ENOUGH, LITTLE = 0.5, 0.1   # of the goal: the weight to reach, and the weight to stay below


def goal(wanted: float, itself: float) -> str:
    """Whether the weights of the head by hand reach the goal: on the token that is wanted, and on the one that
    looks."""
    enough, little = as_printed(wanted) >= ENOUGH, as_printed(itself) <= LITTLE
    return first_true([(enough and little, "reached"), (enough, "itself"), (little, "wanted"), (True, "neither")])


def most(weights: Sequence[float]) -> str:
    """Whether one weight is the largest, some of several, or all are equal."""
    _, count = rank(max(weights), weights)
    return first_true([(count == 1, "one"), (count == len(weights), "all"), (True, "several")])


def mix_place(inside: float) -> str:
    """Whether the mix of the head by hand is inside the hull of the values or on its edge."""
    return "inside" if as_printed(inside, lambda number: f"{number:z.2f}") > 0 else "edge"


def nearest(angles: np.ndarray, weights: np.ndarray, allowed: np.ndarray) -> str:
    """Whether the key at the smallest angle has the largest weight: angles in degrees, weights, what the mask allows
    (key)."""
    places = np.flatnonzero(allowed & np.isfinite(angles))
    if not len(places):
        return "none"
    closest = float(weights[places[np.argmin(angles[places])]])
    place, tied = rank(closest, weights[allowed].tolist())
    return first_true([(place == 1 and tied == 1, "same"), (place == 1, "tied"), (True, "other")])


def row_sum(total: float, sink: float) -> str:
    """Where the output lies: in the hull, or, where a sink takes a share, between the hull and 0."""
    return first_true([(as_printed(sink) > 0, "sink"), (format_weight(total) == "1.000", "one"), (True, "other")])
