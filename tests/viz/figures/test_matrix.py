"""Matrices: legible numbers in cells, rows with their own scale, and names of small pictures."""
import numpy as np
import pytest

from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.figures.matrix import CellStyle, importance, matrix
from clearhead.viz.style import theme as colours
from tests.plotly_figure import plotly_of

SHADES = np.linspace(0, 1, 144).reshape(12, 12)
PLACES = [str(place) for place in range(12)]


def numbered() -> dict[str, FigureSpec]:
    return {"weights": matrix(SHADES, PLACES, PLACES),
            "signed": matrix(2 * SHADES - 1, PLACES, PLACES, style=CellStyle("signed")),
            "importance": importance([[(name, row) for name, row in zip(PLACES, SHADES)]], PLACES, [False] * 12,
                                     title="token", apart_title="")}


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    lighter, darker = sorted([float(colours.luminance(one)), float(colours.luminance(other))], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def cell_colour(trace, row: int, column: int) -> np.ndarray:
    share = (float(np.asarray(trace.z, float)[row, column]) - trace.zmin) / (trace.zmax - trace.zmin)
    places, stops = zip(*trace.colorscale)
    return np.array([np.interp(share, places, channel) for channel in zip(*map(colours.rgb, stops))])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["weights", "signed", "importance"])
def test_numbers_stand_out_from_their_cells(theme, name):
    cells, over = plotly_of(numbered()[name], theme).data
    found = {(trace.textfont.color, row, column) for trace in (cells, over)
             for row, texts in enumerate(trace.text) for column, text in enumerate(texts) if text.strip()}
    assert len({place[1:] for place in found}) == len(found) > 100
    assert min(contrast(np.array(colours.rgb(ink)), cell_colour(cells, row, column))
               for ink, row, column in found) >= 4.5
    assert over.hoverinfo == "skip" and {stop for _, stop in over.colorscale} == {"rgba(0,0,0,0)"}


TOKENS, APART = ["[CLS]", "a", "b", "c"], [True, False, False, False]
GROUPS = [[("deleted", np.array([9.0, -2.0, 1.0, np.nan]))],
          [("rollout", np.array([0.5, 0.001, 0.25, 0.125])), ("none", np.zeros(4))]]


def test_negative_cells_are_struck_through():
    numbers = np.zeros((14, 14))
    numbers[2, 5], numbers[3, 1], numbers[4, 4], numbers[6, 6] = -0.1, -1, -0.01, 1
    weak, strong = matrix(numbers, style=CellStyle("signed")).to_plotly_json()["layout"]["shapes"]
    assert (weak["path"], strong["path"]) == ("M4.75,2.25L5.25,1.75", "M0.75,3.25L1.25,2.75")
    assert "shapes" not in matrix(np.abs(numbers)).to_plotly_json()["layout"]


def test_row_is_coloured_by_its_own_largest():
    figure = plotly_of(importance(GROUPS, TOKENS, APART, title="token", apart_title="apart"))
    trace, over = figure.data
    np.testing.assert_allclose(np.asarray(trace.z, float), [
        [1, 0.5, np.nan, np.nan, 4.5], [np.nan] * 5, [0.004, 1, 0.5, np.nan, 2], [0, 0, 0, np.nan, 0]])
    assert list(figure.layout.xaxis.labelalias.values()) == ["a", "b", "c", "", "[CLS]"]
    written = [[(light + dark).strip() for light, dark in zip(*each, strict=True)]
               for each in zip(trace.text, over.text, strict=True)]
    assert written[0] == ["−2.0", "1.0", "", "", "9.0"] and written[2] == ["", "0.25", "0.12", "", "0.50"]
    assert trace.customdata[0][0] == "deleted · a: −2" and (trace.zmin, trace.zmax) == (0, 1)


@pytest.mark.parametrize("numbers, label, texts", [
    ([0.68, -0.0068, 0.004, np.nan], "x", ["0.68", "−0.01", "", ""]),
    ([0.068, 0.0068, 0.0004, -0.068], "x", ["0.068", "0.007", "", "−0.068"]),
    ([-0.0068, 0.00068, 0.00004, 0], "x · 10⁻³", ["−6.8", "0.7", "", ""]),
    ([1.5e-6, -6.1e-7, 0, 0], "x · 10⁻⁶", ["1.5", "−0.6", "", ""]),
    *(([largest, 0.93, 0.86, 0], "x", ["1.00", "0.93", "0.86", ""]) for largest in (0.9999999, 1.0000001)),
    ([123, -99.4, 0.4, 1], "x", ["123", "−99", "", "1"]),
    ([1e-13, 0, 0, 0], "x · 10⁻⁹", ["", "", "", ""]), ([0, 0, 0, 0], "x", ["", "", "", ""])])
def test_numbers_of_a_small_row_are_scaled(numbers, label, texts):
    figure = plotly_of(importance([[("x", np.array(numbers))]], list("abcd"), [False] * 4, title="",
                                  apart_title=""))
    written = [(light + dark).strip() for light, dark in zip(*(trace.text[0] for trace in figure.data), strict=True)]
    assert (figure.layout.yaxis.ticktext[0], written) == (label, texts)
    assert max(map(len, texts)) <= 6
