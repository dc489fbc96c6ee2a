"""What the components share that needs no picture: numbers, words, colours."""
import pytest

from viz.format import format_weight


@pytest.mark.parametrize("value, written, in_a_legend", [
    (0, "0.000", "0"), (0.1234, "0.123", "0.123"), (0.0001, "1.0e-04", "0.0001"), (0.001234, "0.001", "0.0012"),
    (2, "2.000", "2"), (0.5, "0.500", "0.5"), (-0.25, "−0.250", "−0.25"), (12.34, "12.340", "12.3"),
    (10, "10.000", "10"),
    (123.4, "123.400", "123"), (100, "100.000", "100"), (0.0625, "0.062", "0.062"),
    (3.1875, "3.188", "3.188"), (-0.3125, "−0.312", "−0.312"), (3e-12, "3.0e-12", "3e-12")])
def test_a_number_as_people_read_it(run_module, value, written, in_a_legend):
    found = run_module("js/shared.js", "({ figure, short }, value) => [figure(value), short(value)]", value)
    assert found == [written, in_a_legend] and format_weight(value) == written


def test_words_are_filled_in_and_colours_taken_apart(run_module):
    assert run_module("js/shared.js", '({ fill }) => fill("{at} of {of}; {at}", { at: 1, of: "<b>" })') == "1 of <b>; 1"
    assert run_module("js/shared.js", '({ parts }) => parts("#0a14ff")') == [10, 20, 255]


@pytest.mark.parametrize("count, written", [(1, "1 head of 12"), (2, "2 heads of 12"), (0, "0 heads of 12")])
def test_a_count_has_its_noun(run_module, count, written):
    text = "{n:# head|# heads} of {all}"
    assert run_module("js/shared.js", "({ fill }, text, n) => fill(text, { n, all: 12 })", text, count) == written


@pytest.mark.parametrize("value, written", [(-0.0004, "0.00"), (-0.0, "0.00"), (-0.25, "−0.25"), (0.25, "0.25")])
def test_what_is_rounded_to_zero_has_no_minus(run_module, value, written):
    assert run_module("js/shared.js", "({ fixed }, value) => fixed(value, 2)", value) == written


def test_the_theme_is_told_by_the_background_that_is_there(run_module):
    found = run_module("js/shared.js", """({ node, palette }) => {
        const both = (light, dark) => ({ light, dark }), root = node("div", "", "", document.body);
        const colours = { ink: both("#000001", "#fffffe"), paper: both("#fffffd", "#000002"), accent: "#c2410c",
            ramp: both(["#ffffff", "#000000"], ["#000000", "#ffffff"]), heads: ["#000000", "#e69f00"] };
        return ["#ffffff", "#0e1117"].map((background) => {
            document.body.style.backgroundColor = background;
            const { theme, ink, heads, accent, gradient } = palette(root, colours);
            return [theme, ink, heads, accent, gradient, root.style.getPropertyValue("--ink")];
        });
    }""")
    assert found == [
        ["light", "#000001", ["#000001", "#e69f00"], "#c2410c", "linear-gradient(90deg, #ffffff,#000000)", "#000001"],
        ["dark", "#fffffe", ["#fffffe", "#e69f00"], "#c2410c", "linear-gradient(90deg, #000000,#ffffff)", "#fffffe"]]
