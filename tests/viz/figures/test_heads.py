"""Heads as points: each once at its numbers; and numbers beside their baselines."""

import pytest
from plotly.graph_objects import Figure

from model.core.heads import head_frame
from model.studies.patterns import TITLES
from viz.figures.heads import LARGEST, SMALLEST, effect, pattern_grid

BEST = head_frame([(0, 0), (0, 1), (2, 0), (2, 1)],
                  {"pattern": ["even", "first", "even", "previous"], "fit": [0.9, 1.0, 0.3, 0.7],
                   "silenced": [0.01, 0.5, 0.0, 0.02]})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_grid_has_every_head_once_at_its_place(theme):
    figure = pattern_grid(theme, BEST, TITLES, axes=("head", "layer"))
    points = {(x, y): (trace.name, size) for trace in figure.data
              for x, y, size in zip(trace.x, trace.y, trace.marker.size, strict=True)}
    assert {place: name for place, (name, _) in points.items()} == {
        (0, 0): TITLES["even"], (1, 0): TITLES["first"], (0, 1): TITLES["even"], (1, 1): TITLES["previous"]}
    assert points[1, 0][1] == LARGEST and points[0, 1][1] == SMALLEST
    assert tuple(figure.layout.yaxis.ticktext) == ("0", "2")
    assert figure.data[0].name == TITLES["even"]   # the most frequent first


def parts(*given):
    spec = effect("light", *given).to_plotly_json()
    Figure(spec)   # plotly takes it
    traces, shapes = spec["data"], spec["layout"].get("shapes", ())
    dots = {trace["marker"].get("symbol", "circle"): trace["x"][0] for trace in traces if trace["mode"] == "markers"}
    interval = [list(trace["x"]) for trace in traces if trace["mode"] == "lines"]
    return dots, interval, {shape["line"]["dash"]: shape["x0"] for shape in shapes}, spec["layout"]["xaxis"]["range"]


def test_every_number_has_its_mark_and_is_in_view():
    dots, interval, lines, (low, high) = parts(0.6, (0.5, 0.7), 0.3, 0.1, 0.9)
    assert dots == {"circle": 0.6, "circle-open": 0.9} and interval == [[0.5, 0.7]]
    assert lines == {"dash": 0.3, "dot": 0.1}
    assert low < 0.1 and high > 0.9
