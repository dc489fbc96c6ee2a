"""Names beside points: none overlaps another name or a dot, in the narrowest chart or in wider ones."""
import numpy as np
import pytest

from clearhead.viz.figures.base import BEYOND, LETTER, SIDES, fitting_name, name_sides, text_width
from clearhead.viz.figures.heads import twins
from tests.plotly_figure import plotly_of

RNG = np.random.default_rng(0)
ROOM, AT = np.array([300.0, 300.0]), RNG.uniform(20, 280, (40, 2))
RADII, LABELLED = RNG.uniform(3, 9, 40), [(place, f"name {place}", 11.0) for place in range(40)]


def boxes(at: np.ndarray, found: list[str]) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Return (point, middle, half) of every placed name."""
    made = []
    for (place, name, size), side in zip(LABELLED, found, strict=True):
        if side:
            half = np.array([text_width(name) * size / LETTER / 2, size / 2])
            made.append((place, at[place] + np.array(SIDES[side]) * (BEYOND * RADII[place] + 1 + half), half))
    return made


@pytest.mark.parametrize("wider", [1, 1.4, 3])
def test_names_cover_no_name_and_no_dot(wider):
    found = boxes(AT * wider, name_sides(AT, ROOM, RADII, LABELLED))
    assert 15 < len(found) < len(LABELLED)
    for place, middle, half in found:
        for other, its, halves in found:
            assert place == other or (np.abs(middle - its) >= half + halves - 1).any()
        others = np.arange(len(AT)) != place
        assert (np.abs(middle - AT[others] * wider) >= half + RADII[others, None] - 1).any(1).all()


@pytest.mark.parametrize("name", ["", "cat", "electroencephalographer", "MMMMMMMM", "中文字中文字"])
def test_name_is_cut_at_the_available_width(name):
    for pixels in (20, 40, 80, 300):
        found = fitting_name(name, pixels)
        assert text_width(found) <= pixels and (found == name) == (text_width(name) <= pixels)
        longer = name[:len(found)] + "…"
        assert found == name or text_width(longer) > pixels


HEAD_NAMES = [f"{layer}·{head}" for layer in range(6) for head in range(12)]


def test_twins_draw_every_head_at_its_numbers():
    draw = np.random.default_rng(0)
    here, there = draw.dirichlet([0.3, 0.3, 2], (2, 72))[..., :2].astype(np.float32)
    trace = plotly_of(twins(HEAD_NAMES, here, there, 40, axes=("x", "y"),
                            corners=("a", "b", "c", "d"))).data[-1]
    assert trace.hovertext[-1] == HEAD_NAMES[40] and sorted(trace.hovertext) == sorted(HEAD_NAMES)
    for place, name in enumerate(trace.hovertext):
        head = HEAD_NAMES.index(name)
        np.testing.assert_allclose(trace.customdata[place], [*here[head], *there[head]])
        assert trace.x[place] == here[head, 0] - here[head, 1] and trace.y[place] == there[head, 0] - there[head, 1]
    assert trace.marker.color[-1] not in trace.marker.color[:-1], "the chosen head"
