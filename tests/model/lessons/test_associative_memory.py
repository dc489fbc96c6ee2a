"""Recall against Bayes' rule, written out over every pixel."""
import numpy as np
import pytest
from scipy import special

from model.lessons import kernels


def test_signs_are_whole_and_all_different():
    for pictures in kernels.stored_pairs(8):
        assert pictures.shape == (8, 35) and set(pictures.ravel()) == {-1.0, 1.0}
        assert len(set(map(tuple, pictures))) == 8


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_at_the_best_temperature_the_weights_are_the_probabilities(share):
    keys, values = kernels.stored_pairs(6)
    query = kernels.damage(keys[2], share, 7)
    logs = np.where(query == keys, np.log(1 - share), np.log(share)).sum(1)
    mixed, weights = kernels.recall(query, keys, values, kernels.best_temperature(share))
    assert weights[0] == pytest.approx(special.softmax(logs), abs=1e-12)
    assert mixed[0] == pytest.approx(special.softmax(logs) @ values, abs=1e-12)


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_no_other_temperature_has_a_smaller_error(share):
    keys, values = kernels.stored_pairs(8)
    best = kernels.best_temperature(share)
    squared, found = kernels.errors(keys, values, share, best * np.array([0.4, 1.0, 2.5]), draws=300)
    assert squared[1] < squared[0] and squared[1] < squared[2] and found[0] > found[1] > found[2]


def test_cold_is_the_best_pair_and_hot_the_mean_of_all():
    keys, values = kernels.stored_pairs(5)
    cold, hot = (kernels.recall(keys[3:4], keys, values, temperature)[0][0] for temperature in (1e-3, 1e9))
    assert cold == pytest.approx(values[3]) and hot == pytest.approx(values.mean(0), abs=1e-6)


def test_damage_turns_the_asked_share_over_and_more_noise_only_turns_more():
    key = kernels.stored_pairs(8)[0][5]
    few, many = kernels.damage(key, 0.1, 3, 500) != key, kernels.damage(key, 0.3, 3, 500) != key
    assert few.mean() == pytest.approx(0.1, abs=0.01) and many.mean() == pytest.approx(0.3, abs=0.01)
    assert (many >= few).all()
