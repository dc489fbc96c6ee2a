"""The quoted laws: the closed form of the best size against trying all sizes, and what the papers say of Chinchilla."""
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from model.lessons.since import BESIROGLU, CHINCHILLA, HOFFMANN, kaplan

CHINCHILLAS = 6 * CHINCHILLA[0] * CHINCHILLA[1]


@pytest.mark.parametrize("law", [HOFFMANN, BESIROGLU])
@pytest.mark.parametrize("compute", [1e18, CHINCHILLAS, 1e27])
def test_the_best_size_is_found_by_search_too(law, compute):
    found = minimize_scalar(lambda log: law.loss(np.exp(log), compute / 6 / np.exp(log)), bounds=(10, 40),
                            method="bounded", options={"xatol": 1e-9})
    parameters, tokens = law.best(compute)
    assert parameters == pytest.approx(np.exp(found.x), rel=1e-3) and 6 * parameters * tokens == pytest.approx(compute)


def test_the_second_fit_agrees_with_chinchilla_and_the_first_does_not():
    assert BESIROGLU.best(CHINCHILLAS)[0] == pytest.approx(CHINCHILLA[0], rel=0.1)
    assert HOFFMANN.best(CHINCHILLAS)[0] < 0.6 * CHINCHILLA[0]


def test_kaplans_size_is_theirs_for_one_petaflop_day_and_grows_with_their_power():
    assert kaplan(1e15 * 86_400)[0] == pytest.approx(1.3e9)
    assert kaplan(1e24)[0] / kaplan(1e23)[0] == pytest.approx(10**0.73)
