"""More in the upper half of the layers holds, less does not, and the middle layer counts in neither."""
import numpy as np
import pytest

from model.core.query import quiet
from model.studies.claims.claim import Reason, judge
from model.studies.claims.measured import by_depth, halves
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, planted

special_tokens, distance = by_depth("special", "share"), by_depth("distance", "tokens")
breadth = by_depth("entropy", "bits", way=-1)
WORDS = ["[CLS]", *(f"t{at}" for at in range(8)), "[SEP]"]
NEAR, FAR = looking(10, lambda row: row), looking(10, lambda row: 9 - row)
TO_SPECIAL, TO_WORDS = looking(10, lambda row: 0), looking(10, lambda row: 4)
BROAD = looking(10, lambda row: row, 0.1)


@pytest.mark.parametrize(("measure", "low", "high"), [(distance, NEAR, FAR), (special_tokens, TO_WORDS, TO_SPECIAL),
                                                    (breadth, BROAD, NEAR)])
def test_the_verdict_follows_what_changes_upwards(measure, low, high):
    up, down = ([[low], [low], [high], [high]], [[high], [high], [low], [low]])
    for layers, reason in ((up, Reason.ABOVE), (down, Reason.BELOW), ([[low]] * 4, Reason.UNCLEAR)):
        found = measure(ASKED, FakeModels(lambda query, layers=layers: planted(layers, texts=WORDS)), quiet)
        assert judge(found.findings).reason is reason


def test_the_middle_of_an_odd_number_of_layers_counts_in_neither_half():
    lower, upper = halves(planted([[NEAR], [NEAR], [NEAR]]).maps[0])
    assert lower.tolist() == [True, False, False] and upper.tolist() == [False, False, True]
    assert np.logical_and(lower, upper).sum() == 0
