import numpy as np
import pytest
from scipy import stats

from viz.pages.scale.random_rows import BINS, score_histogram


@pytest.mark.parametrize("deviation", [0.5, 23.0])
def test_the_histograms_theory_is_scipys_normal_distribution(deviation):
    numbers = stats.norm.ppf(np.linspace(0.0005, 0.9995, 20_001)) * deviation
    edges, shares, theory = score_histogram(numbers, deviation)
    assert len(shares) == BINS and theory.sum() == pytest.approx(1, abs=1e-3)
    wanted = np.diff(stats.norm.cdf(edges / deviation))
    assert theory == pytest.approx(wanted, abs=1e-3) and shares == pytest.approx(wanted, abs=1e-3)
