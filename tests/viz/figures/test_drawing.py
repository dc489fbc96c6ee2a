"""Every token is shown character by character in every figure, its tooltip and its CSV."""
import base64
import inspect
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from plotly.offline import get_plotlyjs

from clearhead.viz.figures import __file__ as folder
from clearhead.viz.figures.bars import bars, histogram, stacked_bars
from clearhead.viz.figures.diagrams import Branch, Look, dependency_tree, paths, word_tree
from clearhead.viz.figures.drawing import FigureSpec, Markup, markup, without_markup
from clearhead.viz.figures.heads import (
    accuracies,
    agreement,
    by_layer,
    effect,
    head_map,
    induction_scatter,
    pattern_grid,
    silencing_effects,
    twins,
)
from clearhead.viz.figures.lines import (
    Line,
    PowerSeries,
    lines,
    loss_surface,
    power_law,
    regression,
    standing,
    training,
)
from clearhead.viz.figures.matrix import importance, matrix, tiles
from clearhead.viz.figures.vector_plane import Points, vector_plane
from clearhead.viz.pages.corpus.head_map import HeadDots, atlas_scatter
from clearhead.viz.style.format import visible_token
from tests.plotly_figure import plotly_of

TOKENS = ("<s>", "</s>", "a<b", "&amp;", "&#36;", "<b>x</b>", "<br>", "<a href='x'>y</a>", "$x$", "$$",
          "x_1^2", "\\frac{a}", "{y}", "%{x}", "%{y:.2f}", "{0}", "", " ", "  ", " the", "\n", "\t", "\u200b", "\u202e",
          "\u3164", "\u0301", "e\u0301", "the", "the", "שלום", "العربية", "👩\u200d💻", "漢字", "W" * 60,
          "<extra></extra>", "a  b", "\"'")
ALL = "".join(visible_token(token) for token in TOKENS if token.strip() and len(token) < 20)
ONE, TWO, THREE, FOUR = (f"{ALL}{number}" for number in range(1, 5))
X = np.geomspace(0.1, 10, 5)
NAMES, PLACES = [ONE, TWO], [(0, 0), (0, 1)]
BEST = pd.DataFrame({"pattern": ["even", "first"], "fit": [0.5, 0.6], "silenced": [1.0, 2.0]},
                    index=pd.MultiIndex.from_tuples(PLACES, names=["layer", "head"]))
# each figure with the words that it draws or says on hover; figures of numbers alone draw none
FIGURES: dict = {
    accuracies: lambda: accuracies(NAMES, X[1:3] / 10, X[1:3] / 10, best=1, interval=(0.4, 0.6),
                                   band=(0.4, 0.5, THREE), lines=[(0.5, FOUR)], axes=("a", "b")),
    agreement: lambda: agreement(NAMES, {THREE: X[:2], FOUR: X[:2]}, ("mean", X[:2]), ceiling=(1.0, ALL),
                                 axis=""),
    bars: lambda: bars(NAMES, {THREE: X[:2], FOUR: X[:2]}, axes=("x", ALL)),
    by_layer: lambda: by_layer(PLACES, X[:2], axes=(ONE, TWO), names=(THREE, FOUR), line=(ALL, X[:2])),
    dependency_tree: lambda: dependency_tree(NAMES, [-1, 0], ["root", THREE], "det", [Look(0, 1, True, FOUR)]),
    effect: lambda: effect(1.0, (0.5, 2.0), 0.0),
    head_map: lambda: head_map(PLACES, np.eye(2), marked=(0, 1)),
    histogram: lambda: histogram(np.arange(3), {ONE: X[:2], TWO: X[:2]}, axes=("s", "p"),
                                 curve=(THREE, X[:2]), marks=[(1.0, FOUR)]),
    importance: lambda: importance([[(THREE, X[:2]), (FOUR, X[:2])]], NAMES, [False, True], title="t",
                                   apart_title=ALL),
    induction_scatter: lambda: induction_scatter(NAMES, X[:2] / 9, X[1:3] / 9, [1], axes=(THREE, FOUR)),
    lines: lambda: lines(X, [Line(ONE, X), Line(TWO, X / 2, 1)], axes=("T", "p"), marks=[(1.0, THREE)],
                         bounds=[(0.5, FOUR)]),
    loss_surface: lambda: loss_surface(X, X, np.outer(X, X),
                                       [(ONE, 0, np.outer(X, [1, 1])), (ONE, 1, np.outer(X, [1, 2]))],
                                       axes=(TWO, THREE), loss=FOUR),
    matrix: lambda: matrix(np.eye(2), NAMES, [THREE, FOUR], title=ALL),
    paths: lambda: paths(2, [((0, 0), (1, 1))], [], (0, 1)),
    pattern_grid: lambda: pattern_grid(BEST, {"even": ONE, "first": FOUR}, axes=(TWO, THREE)),
    power_law: lambda: power_law([PowerSeries(ONE, X, X, 0, (1.0, 1.0, 0.1)),
                                           PowerSeries(TWO, X, X, 1, (1.0, 2.0, 0.1))],
                                 axes=("n", "s"), x_range=(0.1, 10), marks=[(1.0, THREE)]),
    regression: lambda: regression(X, [Line(ONE, X), Line(TWO, X)], (X, X, X / 10), (1.0, 1.0, THREE),
                                   axes=("", ""), y_range=(0, 10)),
    silencing_effects: lambda: silencing_effects(BEST, {"even": ONE, "first": FOUR}, axes=(TWO, THREE)),
    stacked_bars: lambda: stacked_bars(NAMES, [(THREE, 0, X[:2]), (FOUR, 1, X[:2])], axis="nats",
                                       marks=[(1.0, ALL)]),
    standing: lambda: standing(X, [Line(ONE, X), Line(TWO, X)], (1.0, {0: 1.0}), axes=("", ""),
                               marks=[(1.0, THREE)], y_range=(0.1, 10)),
    tiles: lambda: tiles([[("<s>", np.eye(2)), ("%{x}", np.eye(2)), ("$x$", np.eye(2))]]),
    training: lambda: training((X, X, X), ([0, 1], {ONE: X[:2] / 9}, [ONE]), titles=(TWO, THREE, "{names}"),
                               at=(1, FOUR), guessing=(1.0, ALL)),
    twins: lambda: twins(NAMES, X[:4].reshape(2, 2) / 9, X[:4].reshape(2, 2)[::-1] / 9, 1, axes=("a", "b"),
                         corners=(THREE, FOUR, ALL, "x")),
    vector_plane: lambda: vector_plane(Points(np.eye(2), NAMES), axes=("x", "y"),
                                       arrows=[(THREE, X[:2]), (FOUR, X[1:3])]),
    word_tree: lambda: word_tree(ONE, [Branch((0,), TWO, "60%", 1.0, THREE),
                                                Branch((1,), FOUR, "40%", 0.0, ALL)]),
    atlas_scatter: lambda: atlas_scatter(HeadDots(NAMES, X[:2], X[:2], X[:2], X[:2] / 9, [], 0),
                                         axes=("a", "b"), colour=THREE)}
DRAW = """async (spec) => {
  const root = document.createElement("div");
  root.style.width = "2400px";
  document.body.append(root);
  await Plotly.newPlot(root, spec.data, { ...spec.layout, width: 2400 });
  const read = (where) => [...root.querySelectorAll(`${where} text`)].map((each) => each.textContent);
  const drawn = read(".main-svg"), hovers = [];
  for (let curveNumber = 0; curveNumber < root.data.length; curveNumber++)
    for (const pointNumber of [0, 1]) {
      const cell = root.data[curveNumber].type === "heatmap";
      const subplot = `x${(root.data[curveNumber].yaxis ?? "y")}`, at = pointNumber * 6.5;
      Plotly.Fx.hover(root, cell ? { xval: at, yval: at } : [{ curveNumber, pointNumber }], subplot);
      hovers.push(...read(".hoverlayer"));
      Plotly.Fx.unhover(root);
    }
  const names = (key) => read(`:is(.${key}axislayer-above, .${key}tick)`);
  const bold = [...root.querySelectorAll(".main-svg tspan[style*=bold]")].map((each) => each.textContent);
  root.remove();
  return { drawn, hovers, x: names("x"), y: names("y"), bold };
}"""


@pytest.fixture(scope="module")
def draw(browser):
    page = browser.new_page(viewport={"width": 2400, "height": 900})
    page.set_content("<body></body>")
    page.add_script_tag(content=get_plotlyjs())
    yield lambda figure: page.evaluate(DRAW, json.loads(plotly_of(figure).to_json()))
    page.close()


def test_every_figure_is_tried():
    modules = [import_module(f"clearhead.viz.figures.{path.stem}") for path in Path(folder).parent.glob("[a-z]*.py")]
    made = {each for module in modules for name, each in vars(module).items()
            if inspect.isfunction(each) and each.__module__ == module.__name__ and name[0] != "_"
            and inspect.signature(each).return_annotation is FigureSpec and name != "chart"}
    assert made <= FIGURES.keys()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_drawn_values_equal_the_given_ones(draw, figure):
    source, found = inspect.getsource(FIGURES[figure]), draw(FIGURES[figure]())
    said = "\n".join(found["drawn"] + found["hovers"])
    given = [text for name, text in (("ONE", ONE), ("TWO", TWO), ("THREE", THREE), ("FOUR", FOUR)) if name in source]
    lost = [text for text in ("<s>", "%{x}", "$x$") if text not in said] if figure is tiles else \
        [text for text in given if text not in said]
    assert lost == []


def test_markup_is_rendered_but_inserted_text_is_not(draw):
    figure = FigureSpec(height=200)
    figure.add_scatter(x=[0], y=[0], mode="text", text=[markup("<b>K</b><br>{token}", token="<b>x</b>")])
    found = draw(figure)
    assert "K<b>x</b>" in found["drawn"] and set(found["bold"]) == {"K"}
    assert without_markup(markup("<b>K</b><br>{token}", token="<i> & $")) == "K  <i> & $"
    assert without_markup("<b>") == "<b>"
    assert isinstance(markup("{n}", n=1), Markup)


def unpacked(value):
    """Return plotly's typed arrays as float32 lists, and everything else unchanged."""
    if isinstance(value, dict) and "bdata" in value:
        shape = [int(each) for each in str(value["shape"]).split(",")] if "shape" in value else [-1]
        return np.frombuffer(base64.b64decode(value["bdata"]),
                             value["dtype"]).astype(np.float32).reshape(shape).tolist()
    if isinstance(value, dict):
        return {name: unpacked(each) for name, each in value.items() if name != "template"}
    if isinstance(value, (list, tuple)):
        return [unpacked(each) for each in value]
    return float(np.float32(value)) if isinstance(value, (float, np.floating)) else value


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_plotly_knows_every_property_and_reads_what_is_sent(figure):
    made = FIGURES[figure]()
    sent, read = unpacked(made.to_plotly_json()), unpacked(plotly_of(made).to_dict())
    sent["layout"] = {name: each for name, each in sent["layout"].items() if each != []}
    np.testing.assert_equal(sent, read)


def test_plotly_refuses_what_it_does_not_know():
    figure = FigureSpec(height=300)
    figure.add_scatter(y=np.arange(3), lien_width=2)
    with pytest.raises(ValueError, match="lien"):
        plotly_of(figure)
