"""The page Many texts: heads at their numbers on the map, the marked cell of a text, and a user's rule."""
import numpy as np
import pytest

from clearhead.model.core.statistics import HeldOut, Luck, MeanInterval
from clearhead.model.studies.rule import RuleReport
from clearhead.viz.pages.corpus.card import strip
from clearhead.viz.pages.corpus.head_map import LARGE, SMALL, HeadDots, atlas_scatter, span
from clearhead.viz.pages.corpus.own_rule import claims
from tests.plotly_figure import plotly_of

NAMES = ["0·0", "0·1", "1·0"]


def dots(**changes) -> HeadDots:
    given = {"names": NAMES, "x": np.array([1.0, 2.0, 4.0]), "y": np.array([0.1, 0.2, 0.3]),
             "colour": np.array([0.0, 0.5, 1.0]), "size": np.array([0.0, 0.5, 1.0]), "chosen": (), "open_head": 1}
    return HeadDots(**(given | changes))


def drawn(**changes) -> dict:
    figure = atlas_scatter(dots(**changes), axes=("a", "b"), colour="c")
    return {"data": plotly_of(figure).data}   # as plotly's own check reads it


def test_dots_are_at_their_numbers():
    first, ring = drawn()["data"]
    assert list(first["x"]) == [1, 2, 4] and list(first["customdata"]) == NAMES
    assert list(first["marker"]["size"]) == [SMALL, (SMALL + LARGE) / 2, LARGE]
    assert list(ring["x"]) == [2] and list(ring["text"]) == ["0·1"]
    assert len(drawn(open_head=None)["data"]) == 1


def test_framed_heads_stand_out():
    assert list(drawn(chosen=(0, 2))["data"][0]["marker"]["opacity"]) == [0.95, 0.25, 0.95]
    assert set(drawn()["data"][0]["marker"]["opacity"]) == {0.95}


@pytest.mark.parametrize("values", [np.array([2.0, 2.0, 2.0]), np.array([np.nan] * 3), np.array([np.nan, 1, 2])])
def test_axis_contains_any_numbers(values):
    low, high = span(values)
    assert low < high and all(low < value < high for value in values if np.isfinite(value))
    marker = drawn(colour=values, open_head=None)["data"][0]["marker"]
    assert all(marker["cmin"] <= value <= marker["cmax"] for value in values if np.isfinite(value))
    drawn(x=values, open_head=None, size=np.array([np.nan, 0, 1]))


ROW = {"tokens": ("[CLS]", "The", "cat", "*sat*", "[SEP]"), "keys": (), "query": 3, "key": 1, "weight": 0.5}


def test_both_ends_are_marked_and_markup_is_text():
    said = strip(ROW)
    assert ":orange-background[**\\*sat\\***]" in said and ":blue-background[**The**]" in said
    assert said.startswith("\\[CLS\\]") and "…" not in said


def test_text_without_the_cell_is_not_marked():
    assert "background" not in strip(ROW | {"query": -1, "key": -1})
    assert strip(ROW | {"keys": ("le", "chat")}) == ":orange-background[**\\*sat\\***] → :blue-background[**chat**]"


def report(low: float, offset: float, chance: float) -> RuleReport:
    best, other = MeanInterval(0.8, low, 0.9, 50, 40), MeanInterval(0.3, 0.2, 0.4, 50, 40)
    return RuleReport(((0, 0), (1, 2)), (other, best), np.array([0.1, 0.5]), 50, 40, 40, 3, (-1, offset),
                      Luck(0.8, 0.4, chance, 0.005), HeldOut(best, (1, 1)), (1, 2))


@pytest.mark.parametrize(("low", "offset", "chance", "beyond"), [
    (0.7, 0.5, 0.6, True), (0.7, 0.75, 0.6, False), (0.7, 0.5, 0.75, False)])
def test_rule_is_beyond_chance_if_its_interval_is(low, offset, chance, beyond):
    first, *others = claims(report(low, offset, chance), None)
    assert "80.0%" in first and "70.0% to 90.0%" in first and "1·2" in first
    assert ("is not above" in first) is not beyond
    assert any("−1" in line for line in others)
    assert len(claims(report(low, offset, chance), report(0, 0, 0))) == len(others) + 2
