"""A dot with its interval, lines at baseline and luck, a hollow dot at the best head; what does not exist is left
out."""
import math

import pytest
from plotly.graph_objects import Figure

from viz.figures.heads import effect


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


@pytest.mark.parametrize("best", [None, 0.6])
def test_without_luck_and_with_the_best_at_the_effect_there_is_one_dot_and_one_line(best):
    dots, _, lines, _ = parts(0.6, (0.5, 0.7), 0.3, None, best)
    assert dots == {"circle": 0.6} and lines == {"dash": 0.3}


def test_what_does_not_exist_is_left_out_and_one_number_alone_has_room():
    nothing = math.nan
    _, interval, lines, (low, high) = parts(0.25, (nothing, nothing), nothing, nothing)
    assert interval == [] and lines == {} and low < 0.25 < high
    _, _, _, (low, high) = parts(nothing, (nothing, nothing), nothing)
    assert math.isfinite(low) and low < high
