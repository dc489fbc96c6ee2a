"""What is measured has a histogram, a cell, and a name that stands once."""
import numpy as np
import pytest

from model.core.measures import MEASURES
from model.core.query import Kind
from model.studies.atlas.numbers import BITS, CELLS, NUMBERS, SHARE, TOKENS, Bins, numbers_of, rows_of
from model.studies.patterns import PATTERNS


@pytest.mark.parametrize("bins", [SHARE, BITS, TOKENS, Bins(0, 8, 4)])
def test_every_value_lies_between_the_ends_of_its_bin(bins):
    values = np.concatenate([np.linspace(bins.low, bins.high, 999), [bins.low, bins.high]])
    place = bins.of(values)
    assert (bins.edges[place] <= values).all() and (values <= bins.edges[place + 1]).all()
    assert bins.of(np.array([bins.low - 1, bins.high + 1])).tolist() == [0, bins.count - 1]
    assert (np.diff(bins.edges) > 0).all() and len(bins.edges) == bins.count + 1


def test_all_measures_and_patterns_are_there_and_cross_attention_has_those_that_mean_something():
    names = [number.name for number in NUMBERS]
    assert len(set(names)) == len(names) == len(MEASURES) + len(PATTERNS) + 4
    assert all(number.cell in CELLS for number in NUMBERS)
    assert {number.name for number in numbers_of(Kind.CROSS)} == {
        "first", "special", "entropy", "fit_first", "fit_end", "fit_even", "confidence"}
    assert rows_of(Kind.SELF)[:len(NUMBERS)] == tuple(names) and len(set(rows_of(Kind.SELF))) == len(
        rows_of(Kind.SELF))
