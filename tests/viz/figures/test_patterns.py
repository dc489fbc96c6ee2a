"""The two pictures of the page Measures: every head is drawn once, in its pattern's colour, where its numbers say."""
import pytest

from model.core.measures import head_frame
from model.studies.patterns import TITLES
from viz.figures.heads import LARGEST, SMALLEST, colour_of, pattern_grid, silencing_effects

BEST = head_frame([(0, 0), (0, 1), (2, 0), (2, 1)],
                  {"pattern": ["even", "first", "even", "previous"], "fit": [0.9, 1.0, 0.3, 0.7],
                   "silenced": [0.01, 0.5, 0.0, 0.02]})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_pattern_has_a_colour_of_its_own(theme):
    colours = colour_of(theme, list(TITLES))
    assert set(colours) == set(TITLES) and len(set(colours.values())) == len(TITLES)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_largest_squares_stand_apart_on_a_phone(theme):
    """Of its 390 pixels 270 are the axis, for twelve heads and the room beside them; of more heads the edges stay, in
    the page's colour."""
    wide = head_frame([(0, head) for head in range(12)], {"pattern": ["even"] * 12, "fit": [1.0] * 12})
    figure = pattern_grid(theme, wide, TITLES, axes=("head", "layer"))
    low, high = figure.layout.xaxis.range
    marker = figure.data[0].marker
    assert max(marker.size) < 270 / (high - low) and marker.line.width == 1
    assert marker.line.color == figure.layout.paper_bgcolor


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_grid_has_every_head_once_at_its_place_and_larger_where_it_fits_better(theme):
    figure = pattern_grid(theme, BEST, TITLES, axes=("head", "layer"))
    points = {(x, y): (trace.name, size) for trace in figure.data
              for x, y, size in zip(trace.x, trace.y, trace.marker.size, strict=True)}
    assert {place: name for place, (name, _) in points.items()} == {
        (0, 0): TITLES["even"], (1, 0): TITLES["first"], (0, 1): TITLES["even"], (1, 1): TITLES["previous"]}
    assert points[1, 0][1] == LARGEST and points[0, 1][1] == SMALLEST
    assert tuple(figure.layout.yaxis.ticktext) == ("0", "2")
    assert figure.data[0].name == TITLES["even"]   # the most frequent first


def test_effects_stand_over_their_fits_and_the_largest_have_names():
    figure = silencing_effects("light", BEST, TITLES, axes=("fit", "change"))
    points = {name: (x, y) for trace in figure.data
              for name, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)}
    assert points == {f"{layer}·{head}": (row["fit"], row["silenced"]) for (layer, head), row in BEST.iterrows()}
