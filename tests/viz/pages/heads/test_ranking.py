"""The place of the open head in a measure, told from the digits that are printed."""
import numpy as np
import pytest

from model.core.measures import HeadMeasures
from model.core.query import Kind
from viz.pages.heads.ranking import measure_claim


@pytest.mark.parametrize("values, words", [
    ([0.5, 0.3, 0.2], "0·0 **0.500** share of the row, 1 of 3; uniform 0.100"),
    ([0.2, 0.3, 0.5], "0·0 **0.200** share of the row, 3 of 3; uniform"),
    ([0.3004, 0.3001, 0.2], "1 of 3, as 1 other head in these digits; uniform"),
    ([0.3001, 0.3004, 0.5], "2 of 3, as 1 other head in these digits"),
    ([0.3006, 0.3004, 0.3001], "1 of 3; uniform"),
    ([0.0, 0.0, 0.0], "0·0 **0.000** share of the row, 1 of 3, as 2 other heads in these digits")])
def test_a_place_is_shared_by_what_prints_the_same(values, words):
    made = HeadMeasures(Kind.SELF, ((0, 0), (0, 1), (1, 0)), {"previous": np.array(values)},
                        {"previous": np.full(3, 0.1)}, np.zeros(3, int))
    assert words in measure_claim(made, "previous", (0, 0), "title")
