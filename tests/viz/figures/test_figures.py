"""Figures draw the given values, and exports contain what is drawn."""
import json

import numpy as np
import pytest
from plotly.graph_objects import Figure

from clearhead.model.core.heads import head_frame
from clearhead.model.studies.patterns import TITLES
from clearhead.viz.figures.bars import bars, histogram, stacked_bars
from clearhead.viz.figures.diagrams import Branch, Look, dependency_tree, sentence_width, word_tree
from clearhead.viz.figures.drawing import FigureSpec, figure_rows
from clearhead.viz.figures.heads import LARGEST, SMALLEST, agreement, by_layer, effect, pattern_grid
from clearhead.viz.figures.lines import Line, PowerSeries, lines, loss_surface, power_law, standing, training
from clearhead.viz.figures.matrix import CellStyle, matrix
from tests.grey import alike_in_grey
from tests.plotly_figure import plotly_of

X = np.geomspace(0.1, 10, 5)
PLACES = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
NUMBERS = np.array([[0.25, 0.75, np.nan], [0.5, 0.125, 0.375]])


def weights() -> FigureSpec:
    return matrix(NUMBERS, ["the", "the"], ["a", "b", "a"])


def test_table_has_the_numbers_of_a_matrix():
    table = figure_rows(weights())
    assert table[0] == ["series", "key", "query", "value", "label"]
    assert [each[1:] for each in table[1:]] == [
        [0, 0, 0.25, "the → a"], [1, 0, 0.75, "the → b"], [2, 0, "", "the → a"], [0, 1, 0.5, "the → a"],
        [1, 1, 0.125, "the → b"], [2, 1, 0.375, "the → a"]]


def test_weights_run_from_0_to_1_and_differences_are_symmetric():
    cells = plotly_of(weights()).data[0]
    assert (cells.zmin, cells.zmax) == (0, 1)
    signed = plotly_of(matrix(NUMBERS - 0.5, ["the", "the"], ["a", "b", "a"],
                              style=CellStyle("signed"))).data[0]
    assert signed.zmin == -signed.zmax == -0.375


def test_means_by_layer():
    figure = plotly_of(by_layer(PLACES, X, axes=("layer", "bits"), names=("heads", "means"),
                                line=("even", X / 2), marked=(1, 0)))
    assert list(figure.data[1].y) == pytest.approx([X[:2].mean(), X[2:4].mean(), X[4]])
    assert list(figure.data[2].y)[2] == X[4] / 2
    assert figure.data[0].customdata[3] == "layer 1 · head 1" and figure.data[3].y[0] == X[2]


SERIES = {
    "lines": lambda: lines(X, [Line("a", X, 0), Line("b", X, 1), Line("c", X, 2, "dots"),
                                            Line("d", X, 3, "dots"), Line("even", X, None, "dash")], axes=("T", "p")),
    "bars": lambda: bars(["x", "y"], dict.fromkeys("abcde", X[:2]), axes=("", "p")),
    "histogram": lambda: histogram(np.arange(3), {"a": X[:2], "b": X[:2]}, axes=("s", "p"),
                                         curve=("normal", X[:2])),
    "stacked": lambda: stacked_bars(["x", "y"], [("a", 0, X[:2]), ("b", 1, X[:2]), ("c", 5, X[:2])],
                                          axis="nats"),
    "powers": lambda: power_law([PowerSeries(f"{place}", X, X, place, (1.0, 1.0, 0.1))
                                              for place in range(4)], axes=("n", "s"), x_range=(0.1, 10)),
    "paths": lambda: loss_surface(X, X, np.outer(X, X), [(f"{place}", place, np.outer(X, [1, 1]))
                                                                     for place in range(3)], axes=("w", "b"), loss="l"),
    "agreement": lambda: agreement(["x", "y"], dict.fromkeys("abc", X[:2]), ("mean", X[:2]),
                                         ceiling=(1.0, "most"), axis="rank"),
    "training": lambda: training((X, X, X), ([0, 1], dict.fromkeys("abcd", X[:2]), ["a", "b", "c"]),
                                       titles=("loss", "right", "{names}"))}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", list(SERIES))
def test_series_are_told_apart_on_grey_paper(name, theme):
    spec = json.loads(plotly_of(SERIES[name](), theme).to_json())
    assert len(spec["data"]) > 1 and alike_in_grey(spec) == []
    assert spec["layout"]["paper_bgcolor"] == {"light": "#ffffff", "dark": "#0e1117"}[theme]
    for trace in spec["data"]:   # what tells them apart taken away, they are not
        for kind in ("line", "marker"):
            trace.get(kind, {}).update({"dash": "solid", "symbol": "circle", "pattern": {}, "width": 2})
    assert alike_in_grey(spec), "the check sees colours alone"


STANDING = np.array([1.0, 10.0, 100.0])


@pytest.mark.parametrize("here", [{0: 2.0}, {0: 2.0, 1: 5.0}])
def test_every_curve_has_a_dot(here):
    drawn = [Line("one", STANDING, 0), Line("other", 2 * STANDING, 1)][:len(here)]
    figure = standing(STANDING, drawn, (7.0, here), axes=("x", "y"), marks=[(7.0, "x = 7")],
                      y_range=(1e-4, 40))
    traces = plotly_of(figure).data
    dots = [trace for trace in traces if trace.name == "here"]
    assert [(float(dot.x[0]), float(dot.y[0])) for dot in dots] == [(7.0, value) for value in here.values()]
    assert sum(trace.name == "apart" for trace in traces) == (len(here) == 2)


BEST = head_frame([(0, 0), (0, 1), (2, 0), (2, 1)],
                  {"pattern": ["even", "first", "even", "previous"], "fit": [0.9, 1.0, 0.3, 0.7],
                   "silenced": [0.01, 0.5, 0.0, 0.02]})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_grid_has_every_head_once_at_its_place(theme):
    figure = plotly_of(pattern_grid(BEST, TITLES, axes=("head", "layer")), theme)
    points = {(x, y): (trace.name, size) for trace in figure.data
              for x, y, size in zip(trace.x, trace.y, trace.marker.size, strict=True)}
    assert {place: name for place, (name, _) in points.items()} == {
        (0, 0): TITLES["even"], (1, 0): TITLES["first"], (0, 1): TITLES["even"], (1, 1): TITLES["previous"]}
    assert points[1, 0][1] == LARGEST and points[0, 1][1] == SMALLEST
    assert tuple(figure.layout.yaxis.ticktext) == ("0", "2")
    assert figure.data[0].name == TITLES["even"]   # the most frequent first


def parts(*given):
    spec = effect(*given).to_plotly_json()
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


WORDS, HEADS, RELATIONS = ("the", "<b>cat", "ate", "fish"), (1, 2, -1, 2), ("det", "nsubj", "root", "obj")
LOOKS = [Look(0, 1, True, "the looks at cat"), Look(1, 3, False, "cat looks at fish"), Look(3, None, False, "nothing")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_relations_are_arcs_above_and_choices_below(theme):
    spec = dependency_tree(WORDS, HEADS, RELATIONS, "obj", LOOKS).to_plotly_json(theme)
    Figure(spec)   # plotly takes it
    arcs = [trace for trace in spec["data"] if trace["mode"] == "lines" and len(trace["x"]) > 2]
    above, below = ([arc for arc in arcs if (max(arc["y"], key=abs) > 0) is up] for up in (True, False))
    assert len(above) == 3 and len(below) == 2
    middles = next(trace["x"] for trace in spec["data"] if trace["name"] == "words")
    assert middles == sorted(middles) and middles[-1] < sentence_width(WORDS, HEADS, RELATIONS)
    for arc, (start, end) in zip([*above, *below], [(1, 0), (2, 1), (2, 3), (0, 1), (1, 3)], strict=True):
        assert [arc["x"][0], arc["x"][-1]] == pytest.approx([middles[start], middles[end]], abs=6)
    assert [arc["line"]["width"] for arc in above] == [1, 1, 2]   # obj stands out
    assert [arc["line"]["dash"] for arc in below] == ["solid", "dash"]
    assert below[0]["line"]["color"] != below[1]["line"]["color"]


BRANCHES = [Branch((0,), "the", "60%", 1.0, "the"), Branch((1,), "a", "40%", 0.0, "a"),
            Branch((0, 5), "cat", "70%", 0.25, "the cat"), Branch((0, 6), "dog", "30%", 0.0, "the dog")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_are_at_the_ends_of_their_branches(theme):
    spec = word_tree("so …", BRANCHES).to_plotly_json(theme)
    Figure(spec)                                                         # plotly takes it
    lines, kept, cut = spec["data"][:4], spec["data"][4], spec["data"][5]
    at = {word: (x, y) for trace in (kept, cut) for word, x, y in zip(
        [text.split()[0].strip("</b>") for text in trace["text"]], trace["x"], trace["y"], strict=True)}
    assert set(at) == {"the", "a", "cat", "dog"} and at["cat"][1] > at["dog"][1] > at["a"][1]
    assert at["the"] == (1, pytest.approx((at["cat"][1] + at["dog"][1]) / 2, abs=0.2))
    assert at["cat"][0] == at["dog"][0] == 2
    widths = [line["line"]["width"] for line in lines]
    assert widths[0] > widths[2] > widths[1] == widths[3] and len(kept["x"]) == len(cut["x"]) == 2
