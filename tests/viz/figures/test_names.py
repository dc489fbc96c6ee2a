"""Names beside points: none lies on another or on a dot, in the narrowest chart and in wider ones."""
import numpy as np
import pytest

from viz.figures.base import BEYOND, LETTER, SIDES, fitting_name, name_sides, text_width
from viz.figures.heads import twins
from viz.figures.vector_plane import Points, vector_plane

RNG = np.random.default_rng(0)
ROOM, AT = np.array([300.0, 300.0]), RNG.uniform(20, 280, (40, 2))
RADII, LABELLED = RNG.uniform(3, 9, 40), [(place, f"name {place}", 11.0) for place in range(40)]


def boxes(at: np.ndarray, found: list[str]) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(point, middle, half) of every name that has a place."""
    made = []
    for (place, name, size), side in zip(LABELLED, found, strict=True):
        if side:
            half = np.array([text_width(name) * size / LETTER / 2, size / 2])
            made.append((place, at[place] + np.array(SIDES[side]) * (BEYOND * RADII[place] + 1 + half), half))
    return made


@pytest.mark.parametrize("wider", [1, 1.4, 3])
def test_names_lie_on_no_other_name_and_on_no_dot_however_wide_the_chart_becomes(wider):
    found = boxes(AT * wider, name_sides(AT, ROOM, RADII, LABELLED))
    assert 15 < len(found) < len(LABELLED)
    for place, middle, half in found:
        for other, its, halves in found:
            assert place == other or (np.abs(middle - its) >= half + halves - 1).any()
        others = np.arange(len(AT)) != place
        assert (np.abs(middle - AT[others] * wider) >= half + RADII[others, None] - 1).any(1).all()


def test_the_first_name_has_a_place_and_a_crowded_one_has_none():
    crowd = np.full((12, 2), 150.0) + np.arange(12)[:, None]
    found = name_sides(crowd, ROOM, np.full(12, 5.0), LABELLED[:12], always=1)
    assert found[0] and "" in found


def test_arrow_names_are_beyond_tips_and_crowded_point_names_in_hover():
    ring = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 6, 20)])
    figure = vector_plane("light", Points(ring, [str(place) for place in range(20)]), axes=("x", "y"),
                          arrows=[("p + k", ring[8]), ("p", ring[3])])
    assert [trace.textposition for trace in figure.data[1:]] == ["top left", "top right"]
    crowd = vector_plane("light", Points(np.zeros((9, 2)), list("abcdefghi")), axes=("x", "y")).data[0]
    assert "" in crowd.text and [each[0] for each in crowd.customdata] == list("abcdefghi")


@pytest.mark.parametrize("name", ["", "cat", "electroencephalographer", "MMMMMMMM", "中文字中文字"])
def test_a_name_is_cut_as_late_as_its_room_allows(name):
    for pixels in (20, 40, 80, 300):
        found = fitting_name(name, pixels)
        assert text_width(found) <= pixels and (found == name) == (text_width(name) <= pixels)
        longer = name[:len(found)] + "…"
        assert found == name or text_width(longer) > pixels


HEAD_NAMES = [f"{layer}·{head}" for layer in range(6) for head in range(12)]
CORNERS = ("right in both", "always animal", "wrong in both", "always street")


def weights(seed: int, size: float) -> np.ndarray:
    """(head, 2): most heads near the middle, a few far from it."""
    draw = np.random.default_rng(seed)
    return (draw.dirichlet([0.3, 0.3, 2], 72)[:, :2] * size).astype(np.float32)


def drawn(seed: int = 0, size: float = 1.0, chosen: int | None = None):
    """The figure of such heads; the chosen one is the head furthest from the middle, unless another is."""
    here, there = weights(seed, size), weights(seed + 100, size)
    if chosen is None:
        chosen = int(np.hypot(here[:, 0] - here[:, 1], there[:, 0] - there[:, 1]).argmax())
    return twins("light", HEAD_NAMES, here, there, chosen, axes=("x", "y"), corners=CORNERS)


def dots_and_names(figure, width: float):
    """(middles, radii) of the dots in pixels of a chart of this width, and (middle, half) of every name."""
    trace, layout = figure.data[-1], figure.layout
    room = np.array([width - layout.margin.l - layout.margin.r, layout.height - layout.margin.t - layout.margin.b])
    y = np.log10(trace.y) if layout.yaxis.type == "log" else np.asarray(trace.y)
    low, high = (np.array([axis.range[end] for axis in (layout.xaxis, layout.yaxis)]) for end in (0, 1))
    at = (np.column_stack([trace.x, y]) - low) / (high - low) * room
    radii = np.broadcast_to(np.asarray(trace.marker.size, float), len(at)) / 2
    sides = [trace.textposition] * len(at) if isinstance(trace.textposition, str) else trace.textposition
    names = {}
    for place, (name, side) in enumerate(zip(trace.text, sides, strict=True)):
        if name:
            half = np.array([text_width(name) * trace.textfont.size / LETTER, trace.textfont.size]) / 2
            names[place] = at[place] + np.array(SIDES[side]) * (BEYOND * radii[place] + 1 + half), half
    return at, radii, names, room


def free(figure, width: float) -> int:
    """How many names there are; none of them covers a dot or another name, and none leaves the plot."""
    at, radii, names, room = dots_and_names(figure, width)
    for place, (middle, half) in names.items():
        assert (middle >= half - 1).all() and (middle <= room - half + 1).all()
        others = np.arange(len(at)) != place
        assert (np.abs(middle - at[others]) >= half + radii[others, None] - 1).any(1).all(), place
        assert all((np.abs(middle - its) >= half + its_half - 1).any()
                   for other, (its, its_half) in names.items() if other != place)
    return len(names)


@pytest.mark.parametrize("width", [340, 900])
@pytest.mark.parametrize("seed, size", [(0, 1.0), (3, 0.02)])
def test_a_name_covers_nothing_however_wide_the_chart_is(seed, size, width):
    assert 2 < free(drawn(seed, size), width) <= 7


def test_the_chosen_head_lies_on_top_and_keeps_its_numbers():
    trace = drawn(chosen=40).data[-1]
    assert trace.hovertext[-1] == HEAD_NAMES[40] and sorted(trace.hovertext) == sorted(HEAD_NAMES)
    here, there = weights(0, 1.0), weights(100, 1.0)
    for place, name in enumerate(trace.hovertext):
        head = HEAD_NAMES.index(name)
        np.testing.assert_allclose(trace.customdata[place], [*here[head], *there[head]])
        assert trace.x[place] == here[head, 0] - here[head, 1] and trace.y[place] == there[head, 0] - there[head, 1]
    assert trace.marker.color[-1] not in trace.marker.color[:-1]
