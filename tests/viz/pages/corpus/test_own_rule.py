"""The page's text about a user's rule."""
import numpy as np
import pytest

from model.core.statistics import HeldOut, Luck, MeanInterval
from model.studies.rule import RuleReport
from viz.pages.corpus.own_rule import claims


def report(low: float, offset: float, chance: float) -> RuleReport:
    best, other = MeanInterval(0.8, low, 0.9, 50), MeanInterval(0.3, 0.2, 0.4, 50)
    return RuleReport(((0, 0), (1, 2)), (other, best), np.array([0.1, 0.5]), 50, 40, 3, (-1, offset),
                      Luck(0.8, 0.4, chance, 0.005), HeldOut(best, (1, 1)), (1, 2))


@pytest.mark.parametrize(("low", "offset", "chance", "beyond"), [
    (0.7, 0.5, 0.6, True), (0.7, 0.75, 0.6, False), (0.7, 0.5, 0.75, False)])
def test_rule_is_beyond_chance_if_its_interval_is(low, offset, chance, beyond):
    first, *others = claims(report(low, offset, chance), None)
    assert "80.0%" in first and "70.0% to 90.0%" in first and "1·2" in first
    assert ("is not above" in first) is not beyond
    assert any("−1" in line for line in others)
    assert len(claims(report(low, offset, chance), report(0, 0, 0))) == len(others) + 2
