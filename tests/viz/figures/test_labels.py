"""Names beside points: none lies on another or on a dot, in the narrowest chart and in wider ones."""
import numpy as np
import pytest

from viz.figures.base import BEYOND, LETTER, SIDES, fitting_name, name_sides, text_width
from viz.figures.heads import head_map
from viz.figures.vector_plane import Points, vector_plane

RNG = np.random.default_rng(0)
ROOM, AT = np.array([300.0, 300.0]), RNG.uniform(20, 280, (40, 2))
RADII, NAMES = RNG.uniform(3, 9, 40), [(place, f"name {place}", 11.0) for place in range(40)]


def boxes(at: np.ndarray, found: list[str]) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(point, middle, half) of every name that has a place."""
    made = []
    for (place, name, size), side in zip(NAMES, found, strict=True):
        if side:
            half = np.array([text_width(name) * size / LETTER / 2, size / 2])
            made.append((place, at[place] + np.array(SIDES[side]) * (BEYOND * RADII[place] + 1 + half), half))
    return made


@pytest.mark.parametrize("wider", [1, 1.4, 3])
def test_names_lie_on_no_other_name_and_on_no_dot_however_wide_the_chart_becomes(wider):
    found = boxes(AT * wider, name_sides(AT, ROOM, RADII, NAMES))
    assert 15 < len(found) < len(NAMES)
    for place, middle, half in found:
        for other, its, halves in found:
            assert place == other or (np.abs(middle - its) >= half + halves - 1).any()
        others = np.arange(len(AT)) != place
        assert (np.abs(middle - AT[others] * wider) >= half + RADII[others, None] - 1).any(1).all()


def test_the_first_name_has_a_place_and_a_crowded_one_has_none():
    crowd = np.full((12, 2), 150.0) + np.arange(12)[:, None]
    found = name_sides(crowd, ROOM, np.full(12, 5.0), NAMES[:12], always=1)
    assert found[0] and "" in found


def test_no_name_leaves_the_plot():
    found = name_sides(np.array([[298.0, 150.0]]), ROOM, np.array([4.0]), [(0, "at the edge", 11.0)])
    assert found == ["middle left"]


def test_an_arrows_name_stands_beyond_its_tip_and_a_points_name_that_has_no_place_is_in_its_hover():
    ring = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 6, 20)])
    figure = vector_plane("light", Points(ring, [str(place) for place in range(20)]), axes=("x", "y"),
                          arrows=[("p + k", ring[8]), ("p", ring[3])])
    assert [trace.textposition for trace in figure.data[1:]] == ["top left", "top right"]
    crowd = vector_plane("light", Points(np.zeros((9, 2)), list("abcdefghi")), axes=("x", "y")).data[0]
    assert "" in crowd.text and [each[0] for each in crowd.customdata] == list("abcdefghi")


def test_the_head_that_stands_out_is_named_once():
    figure = head_map("light", [(0, 0), (0, 1), (1, 0)], np.array([[0, 0], [1, 1], [0, 1.0]]), marked=(0, 1), near=[0])
    assert [name for trace in figure.data for name in trace.text or [] if name] == ["0·0", "1·0", "0·1"]


@pytest.mark.parametrize("name", ["", "cat", "electroencephalographer", "MMMMMMMM", "中文字中文字"])
def test_a_name_is_cut_as_late_as_its_room_allows(name):
    for pixels in (20, 40, 80, 300):
        found = fitting_name(name, pixels)
        assert text_width(found) <= pixels and (found == name) == (text_width(name) <= pixels)
        longer = name[:len(found)] + "…"
        assert found == name or text_width(longer) > pixels
