"""What the lessons' components take from a browser, and what they say."""
import inspect
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

from viz.components import block_diagram as block_diagram
from viz.components import handles as handles
from viz.components import mask_editor as cells
from viz.components import transformer_diagram as anatomy
from viz.components.messages import unpack
from viz.page import pages
from viz.page_controls import Numbers
from viz.text import FOLDER, strings
from viz.widgets.fields import log_steps, slider_for
from viz.widgets.lesson import LETTERS, PLACES, QUESTIONS, drawn_lines, lessons, source_listing

Z = Numbers("z", (1.0, 0.0), -10, 10, 2, 5)
HOSTILE = [None, 1, "x", [], {}, {"values": None}, {"values": [1]}, {"values": [1, 2, 3]}, {"values": [1, "2"]},
           {"values": [1, 99]}, {"values": [1, float("nan")]}, {"values": [1, True]}, {"values": [1, 2], "more": 1}]


@pytest.mark.parametrize("value", HOSTILE)
def test_handles_take_nothing_but_numbers_in_range(value):
    assert handles.parse_event(value, Z, 2) is None


def test_handles_hand_on_what_was_dragged_rounded_to_hundredths():
    assert handles.parse_event({"values": [1.234, -10]}, Z, 2) == (1.23, -10.0)


@pytest.mark.parametrize("value", [None, {"allowed": [1, 0]}, {"allowed": [1, 0, 2, 0]}, {"allowed": [True, 0, 1, 0]},
                                   {"allowed": "1010"},
                                   {"cells": []}])
def test_a_square_takes_nothing_but_zeros_and_ones(value):
    assert cells.parse_event(value, 2) is None


def test_a_painted_square_comes_back_as_it_was_sent():
    square = np.array([[True, False], [True, True]])
    header, _ = unpack(cells.state(square, room="r"))
    assert (cells.parse_event({"allowed": header["allowed"]}, 2) == square).all()


@pytest.mark.parametrize("value", [None, {"box": 1}, {"box": "nowhere"}, {"box": "softmax", "x": 1}, "softmax"])
def test_the_figure_opens_only_doors_that_are_there(value):
    doors = {"softmax": anatomy.Door("softmax", "words", 12, ())}
    assert anatomy.parse_event(value, doors) is None and anatomy.parse_event({"box": "softmax"}, doors) == "softmax"


DRAWN = [block_diagram.DiagramBox(name, kind, name, "7 × 5") for name, kind in
         (("in", "in"), ("norm1", "norm"), ("attention", "attention"), ("add1", "add"),
          ("feed_forward", "feed_forward"), ("add2", "add"))]


@pytest.mark.parametrize("value", [None, {"box": 1}, {"box": ["in"]}, {"box": "nowhere"}, {"box": "in", "x": 1}, "in"])
def test_a_block_opens_only_boxes_that_are_there(value):
    assert block_diagram.parse_event(value, DRAWN) is None and block_diagram.parse_event({"box": "add1"},
                                                                                         DRAWN) == "add1"


def test_residual_connections_start_before_sub_layer_and_end_at_addition():
    at = [500.0, 400.0, 300.0, 200.0, 100.0, 50.0]
    wires = block_diagram.wires(DRAWN, at)
    rounds = [each for each in wires if len(each) == 8]
    assert [each[-1] for each in rounds] == [200.0, 50.0]
    assert all(at[start + 1] < each[1] < at[start] for each, start in zip(rounds, (0, 3), strict=True))
    assert len(wires) - len(rounds) == len(DRAWN)


def test_every_box_has_words():
    assert {box for box, *_ in anatomy.BOXES} == set(strings("lesson")["anatomy"]["boxes"])


def test_the_listing_is_the_functions_own_source_and_compiles():
    text = source_listing((log_steps, test_every_box_has_words), {"weights": np.zeros((2, 3), np.float32)})
    assert inspect.getsource(log_steps) in text and "# weights: float32 (2, 3)" in text
    compile(text, "listing", "exec")


@pytest.mark.parametrize(("value", "closed", "shown"),
                         [(3, True, (1, 2, 3)), (99, True, (1, 2, 3)), (99, False, (1, 2, 3, 99))])
def test_a_slider_shows_what_the_page_takes_of_a_value_that_is_none_of_its_options(monkeypatch, value, closed, shown):
    drawn = []
    monkeypatch.setattr("viz.widgets.fields.slider",
                        lambda label, options, value, **more: drawn.append((tuple(options), value)))
    slider_for(SimpleNamespace(controls={"n": value}), "n", "label", range(1, 4), closed=closed)
    assert drawn == [(shown, min(value, shown[-1]))]


def test_stops_are_even_on_a_log_axis_and_hold_both_ends():
    found = log_steps(0.01, 100, 20)
    assert (found[0], found[-1]) == (0.01, 100) and 1.0 in found and len(found) == 81
    assert np.diff(np.log10(found)) == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize("name", lessons())
def test_the_prose_of_a_lesson_is_whole(name):
    prose = tomllib.loads((FOLDER / "lessons" / f"{name}.toml").read_text(encoding="utf-8"))
    known = {box for box, *_ in anatomy.BOXES}
    assert prose["question"].endswith("?") and prose["lead"] and 5 <= prose["minutes"] <= 30
    assert set(prose["boxes"]) <= known
    assert set(prose["builds_on"]) <= set(lessons()[:lessons().index(name)])   # no lesson builds on a later one
    prompts = [each for each in prose.values() if isinstance(each, dict) and "answers" in each and "ask" in each]
    assert prompts and all(3 <= len(each["answers"]) <= len(LETTERS) and 0 <= each["right"] < len(each["answers"])
                           for each in prompts)
    assert all(set(answer) == {"text", "why"} for each in prompts for answer in each["answers"])
    assert len(prose["remember"]) == 3 and len(prose["check"]) == 2
    assert all(3 <= len(each["answers"]) <= len(LETTERS) and 0 <= each["right"] < len(each["answers"])
               for each in prose["check"])
    assert [title for title, each in prose.items() if isinstance(each, dict) and len(each.get("notice", ())) > 3] == []
    assert pages()[name][0].controls[:3] == QUESTIONS
    assert any(isinstance(each, dict) and each.get("sources") for each in prose.values())
    assert pages()[name][0].section in ("Learn", "Learn more") and pages()[name][0].needs in ("nothing", "head")


def test_on_even_axes_a_height_is_a_share_of_the_range():
    (line,) = drawn_lines(np.linspace(0, 1, PLACES), np.array([0.0, 5.0, 10.0]), (-2.0, 2.0))
    assert line.y == pytest.approx([-2, 0, 2]) and drawn_lines((), np.array([0.0, 1.0]), (0.0, 1.0)) == []


def test_on_logarithms_the_middle_is_the_geometric_mean():
    (line,) = drawn_lines(np.linspace(1, 0, PLACES), np.array([1.0, 10.0, 100.0]), (1e-4, 1e2), "xy")
    assert line.y == pytest.approx([1e2, 0.1, 1e-4])
