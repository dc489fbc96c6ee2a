"""The map of heads: every head at its numbers, framed heads highlighted, missing numbers harmless."""
import numpy as np
import pytest

from viz.pages.corpus.head_map import LARGE, SMALL, HeadDots, atlas_scatter, span

NAMES = ["0·0", "0·1", "1·0"]


def dots(**changes) -> HeadDots:
    given = {"names": NAMES, "x": np.array([1.0, 2.0, 4.0]), "y": np.array([0.1, 0.2, 0.3]),
             "colour": np.array([0.0, 0.5, 1.0]), "size": np.array([0.0, 0.5, 1.0]), "chosen": (), "open_head": 1}
    return HeadDots(**(given | changes))


def drawn(**changes) -> dict:
    figure = atlas_scatter("light", dots(**changes), axes=("a", "b"), colour="c")
    return {"data": figure.data}   # as plotly's own check reads it


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
