"""A drawing is what plotly reads in it: every property is one that plotly knows, and the browser gets the same
numbers."""
import base64

import numpy as np
import pytest

from tests.viz.figures.test_figures import drawn
from viz.figures.bars import stacked_bars
from viz.figures.drawing import FigureSpec
from viz.figures.heads import accuracies, twins
from viz.figures.lines import loss_surface
from viz.figures.vector_plane import Points, vector_plane

RNG = np.random.default_rng(2)
PAIRS, LETTERS = RNG.random((3, 2)), ["a", "b", "a"]
FIGURES = drawn() | {
    "plane": vector_plane("light", Points(RNG.normal(size=(3, 2)), LETTERS, RNG.random(3)), axes=("x", "y"),
                          around=np.array([0, 1, 2]), marked=[("m", PAIRS[0])], arrows=[("q", PAIRS[1])]),
    "twins": twins("dark", LETTERS, PAIRS, PAIRS[::-1], 1, axes=("here", "there"), corners=("1", "2", "3", "4")),
    "lengths": stacked_bars("light", ["one", "two"],
                            [("p", 0, np.array([1.0, np.inf])), ("q", 1, np.array([1.0, 2.0]))], axis="nats",
                            marks=[(1.0, "1")]),
    "landscape": loss_surface("light", np.arange(2.0), np.arange(3.0), PAIRS, [("path", 0, PAIRS)], axes=("a", "b"),
                              name="loss"),
    "accuracies": accuracies("light", LETTERS, PAIRS[:, 0], PAIRS[:, 1], best=1, interval=(0.4, 0.6),
                             bands=[(0.4, 0.5, "chance")], lines=[(0.5, "nearest")], axes=("right", "mass"))}


def unpacked(value):
    """plotly's typed arrays as float32 lists, everything else as it is."""
    if isinstance(value, dict) and "bdata" in value:
        shape = [int(each) for each in str(value["shape"]).split(",")] if "shape" in value else [-1]
        return np.frombuffer(base64.b64decode(value["bdata"]),
                             value["dtype"]).astype(np.float32).reshape(shape).tolist()
    if isinstance(value, dict):
        return {name: unpacked(each) for name, each in value.items() if name != "template"}
    if isinstance(value, (list, tuple)):
        return [unpacked(each) for each in value]
    return float(np.float32(value)) if isinstance(value, (float, np.floating)) else value


@pytest.mark.parametrize("name", list(FIGURES))
def test_plotly_knows_every_property_and_reads_what_is_sent(name):
    sent, read = unpacked(FIGURES[name].to_plotly_json()), unpacked(FIGURES[name].plotly().to_dict())
    sent["layout"] = {name: each for name, each in sent["layout"].items() if each != []}
    np.testing.assert_equal(sent, read)


def test_plotly_refuses_what_it_does_not_know():
    figure = FigureSpec(height=300)
    figure.add_scatter(y=np.arange(3), lien_width=2)
    with pytest.raises(ValueError, match="lien"):
        figure.plotly()
