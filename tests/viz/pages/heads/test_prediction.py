"""How far a prediction came is said by its printed share of the way."""
import pytest

from viz.pages.heads.prediction import far_claim


@pytest.mark.parametrize("far, words", [
    (0.5, "You came **50%** of the way"), (0.006, "You came **1%**"), (0.004, "That is what chance gives"),
    (-0.004, "That is what chance gives"), (-0.006, "less than chance gives, by **1%**"),
    (-0.5, "less than chance gives, by **50%**")])
def test_how_far_a_prediction_came(far, words):
    assert words in far_claim(far)
