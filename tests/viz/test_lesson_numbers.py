"""The few numbers that a lesson page works out itself, against scipy and closed forms."""
import numpy as np
import pytest
from scipy import stats

from viz.pages.positions import accuracy_by_length
from viz.pages.scale import BINS, score_histogram


@pytest.mark.parametrize("deviation", [0.5, 23.0])
def test_the_histograms_theory_is_scipys_normal_distribution(deviation):
    numbers = stats.norm.ppf(np.linspace(0.0005, 0.9995, 20_001)) * deviation
    edges, shares, theory = score_histogram(numbers, deviation)
    assert len(shares) == BINS and theory.sum() == pytest.approx(1, abs=1e-3)
    wanted = np.diff(stats.norm.cdf(edges / deviation))
    assert theory == pytest.approx(wanted, abs=1e-3) and shares == pytest.approx(wanted, abs=1e-3)


def test_accuracies_are_split_at_the_trained_length_and_at_twice_that():
    found = {"trained": 32, "back": 3, "tested": 128}
    places = np.arange(3, 128)
    runs = {"a": np.stack([places < 32, (places < 32) | (places >= 64)]).astype(float)}
    assert accuracy_by_length(runs, found) == {"a_in": 1.0, "a_out": 0.5}
