"""Chance of a fit: even rows by the definition, luck against draws of another generator."""
import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from model.core.query import Kind
from model.studies.patterns import pattern_chance
from tests import fabricate


def test_even_rows_fit_as_the_definition_says():
    attention_map = fabricate.record(9, Kind.SELF, seed=1)[Kind.SELF]
    chance, row, previous = pattern_chance(attention_map, 20), np.full(9, 1 / 9), np.eye(9)
    wanted = 1 - np.mean([jensenshannon(row, previous[place - 1], base=2) ** 2 for place in range(1, 9)])
    assert chance.even["previous"] == pytest.approx(wanted, abs=1e-6)
    assert chance.even["even"] == pytest.approx(1, abs=1e-6) and chance.tokens == 9


def test_luck_is_what_the_best_of_the_habits_reaches_of_other_draws_too():
    attention_map = fabricate.record(9, Kind.SELF, seed=1)[Kind.SELF]
    few, many = pattern_chance(attention_map, 200).luck, pattern_chance(attention_map, 1000).luck
    assert abs(few - many) < 0.03
    # other draws of the same rows: no single one of the simple patterns is fitted better, and one about as well
    random, keys = np.random.default_rng(7).dirichlet(np.ones(9), (300, 9)), np.arange(9)
    near = (np.abs(keys[:, None] - keys) <= 2).astype(float)
    patterns = [near / near.sum(1, keepdims=True), np.eye(9), np.tile(np.eye(9)[0], (9, 1))]
    fits = np.array([[1 - np.mean([jensenshannon(row, pattern[place], base=2) ** 2 for place, row in enumerate(head)])
                      for pattern in patterns] for head in random])
    assert np.quantile(fits.max(1), 0.95) == pytest.approx(many, abs=0.04)
