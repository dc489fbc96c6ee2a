"""The figures of the page Does attention explain?: what is drawn is what was given."""
import numpy as np
import pytest

from viz.figures.drawing import figure_rows
from viz.figures.heads import agreement
from viz.figures.matrix import importance
from viz.widgets.figure import html

TOKENS, APART = ["[CLS]", "a", "b", "c"], [True, False, False, False]
GROUPS = [[("deleted", np.array([9.0, -2.0, 1.0, np.nan]))],
          [("rollout", np.array([0.5, 0.001, 0.25, 0.125])), ("none", np.zeros(4))]]


def drawn(theme: str) -> dict:
    spread = np.array([[0.5, 0.4, 0.6], [0.1, -0.2, 0.3]])
    return {"importance": importance(theme, GROUPS, TOKENS, APART, title="token", apart_title="apart"),
            "plain": importance(theme, GROUPS, TOKENS, [False] * 4, title="token", apart_title="apart"),
            "one": agreement(theme, ["x", "y"], {"deleted": spread[:, 0], "hidden": spread[:, 1]},
                             ("mean", spread[:, 0]), ceiling=(0.7, "top"),
                             chance=(0.6, "chance"), axis="ρ", quiet=["y"]),
            "set": agreement(theme, ["x", "y"], {"deleted": spread}, ("mean", spread), ceiling=(float("nan"), "top"),
                             axis="ρ")}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", list(drawn("light")))
def test_every_figure_draws_in_both_themes_and_asks_no_other_machine(name, theme):
    figure = drawn(theme)[name]
    assert figure.layout.paper_bgcolor == {"light": "#ffffff", "dark": "#0e1117"}[theme]
    assert 'src="http' not in html(figure).decode()


def test_a_row_is_coloured_by_its_own_largest_and_special_tokens_stand_behind_a_gap():
    trace, over = drawn("light")["importance"].data
    np.testing.assert_allclose(np.asarray(trace.z, float), [
        [1, 0.5, np.nan, np.nan, 4.5], [np.nan] * 5, [0.004, 1, 0.5, np.nan, 2], [0, 0, 0, np.nan, 0]])
    assert list(drawn("light")["importance"].layout.xaxis.labelalias.values()) == ["a", "b", "c", "", "[CLS]"]
    written = [[(light + dark).strip() for light, dark in zip(*each, strict=True)]
               for each in zip(trace.text, over.text, strict=True)]
    assert written[0] == ["−2.0", "1.0", "", "", "9.0"] and written[2] == ["", "0.25", "0.12", "", "0.50"]
    assert trace.customdata[0][0] == "deleted · a: −2" and (trace.zmin, trace.zmax) == (0, 1)


@pytest.mark.parametrize("numbers, label, texts", [
    ([0.68, -0.0068, 0.004, np.nan], "x", ["0.68", "−0.01", "", ""]),
    ([0.068, 0.0068, 0.0004, -0.068], "x", ["0.068", "0.007", "", "−0.068"]),
    ([-0.0068, 0.00068, 0.00004, 0], "x · 10⁻³", ["−6.8", "0.7", "", ""]),
    ([-0.000068, 0.0000068, 0, 0], "x · 10⁻³", ["−0.068", "0.007", "", ""]),
    ([1.5e-6, -6.1e-7, 0, 0], "x · 10⁻⁶", ["1.5", "−0.6", "", ""]),
    *(([largest, 0.93, 0.86, 0], "x", ["1.00", "0.93", "0.86", ""]) for largest in (0.9999999, 1, 1.0000001)),
    ([123, -99.4, 0.4, 1], "x", ["123", "−99", "", "1"]),
    ([1e-13, 0, 0, 0], "x · 10⁻⁹", ["", "", "", ""]), ([0, 0, 0, 0], "x", ["", "", "", ""])])
def test_a_small_rows_numbers_are_written_in_thousandths_so_that_all_are_short(numbers, label, texts):
    figure = importance("light", [[("x", np.array(numbers))]], list("abcd"), [False] * 4, title="", apart_title="")
    written = [(light + dark).strip() for light, dark in zip(*(trace.text[0] for trace in figure.data), strict=True)]
    assert (figure.layout.yaxis.ticktext[0], written) == (label, texts)
    assert max(map(len, texts)) <= 6


def test_dots_keep_their_intervals_and_the_ceiling_its_place():
    figure = drawn("light")["set"]
    assert list(figure.data[0].error_x.array) == pytest.approx([0.1, 0.2])
    assert list(figure.data[0].error_x.arrayminus) == pytest.approx([0.1, 0.3])
    assert len(figure.layout.shapes) == 1 and not figure.layout.annotations   # an unknown ceiling is not drawn
    one = drawn("light")["one"]
    assert [shape.x1 for shape in one.layout.shapes] == [0.6, 0.7, 0]
    assert one.data[-1].marker.color[0] != one.data[-1].marker.color[1]
    assert [row[1] for row in figure_rows(one) if row[0] == "mean"] == [0.5, 0.1]
