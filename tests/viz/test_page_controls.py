"""A page's own controls: typed, checked, in the URL, and nobody else's."""
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.core.query import Kind
from model.core.view import View
from viz.link import address, from_params, to_params
from viz.page import Page, pages, with_controls
from viz.page_controls import Choice, Number, Numbers, Places, Switch
from viz.state import State

CONTROLS = (Number("t", 1.0, 0.01, 100), Number("n", 3, 0, 11, whole=True), Choice("row", "own", ("own", "head")),
            Switch("inside"),
            Numbers("z", (1.0, 2.0), -10, 10, 2, 5), Places("cells", 64, 7))
PAGE = Page("nothing", CONTROLS)
VALUES = st.fixed_dictionaries({}, optional={
    "t": st.floats(0.01, 100), "n": st.integers(0, 11), "row": st.sampled_from(["own", "head"]),
    "inside": st.booleans(),
    "z": st.lists(st.floats(-10, 10), min_size=2, max_size=5).map(tuple),
    "cells": st.sets(st.integers(0, 63), max_size=7).map(tuple)})
HOSTILE = st.text(max_size=30) | st.sampled_from(["1e309", "nan", "inf", "-1", "101", "٣", "1_0", "0x1", " 1",
                                                  "1,2,3,4,5,6,7,8", ",", "1,",
                                                  "true", "<script>", "9" * 400, "none,1", "64", "-0", "1e-300",
                                                  "0,0,0"])


@given(VALUES)
def test_a_link_brings_the_controls_back(values):
    state = with_controls(State(), "here", PAGE, values)
    query = urlsplit(address("http://localhost/here", state, "here", CONTROLS)).query
    assert from_params(dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))), "here",
                       CONTROLS) == state


@given(st.dictionaries(st.sampled_from([each.name for each in CONTROLS]), HOSTILE))
def test_hostile_values_are_ignored_or_in_range(params):
    state = from_params(params, "here", CONTROLS)
    for name, value in state.controls_of("here").items():
        control = next(each for each in CONTROLS if each.name == name)
        assert control.clean(value) == value and value != control.start
    assert from_params(to_params(state, "here", CONTROLS), "here", CONTROLS) == state


@pytest.mark.parametrize("value", [0.001, 101, float("nan"), float("inf"), True, "1", None, (1, 2)])
def test_a_value_that_a_control_cannot_be_is_as_if_nobody_had_turned_it(value):
    before = with_controls(State(), "here", PAGE, {"t": 0.5})
    assert with_controls(before, "here", PAGE, {"t": value}) == before


def test_controls_stay_on_their_page_and_survive_leaving_it():
    state = with_controls(with_controls(State(), "here", PAGE, {"t": 0.5}), "there", PAGE, {"t": 7.0})
    assert to_params(state, "here", CONTROLS) == {"t": "0.5"} and to_params(state, "there", CONTROLS) == {"t": "7"}
    assert to_params(state) == {} and to_params(state.with_question(text="another"), "here", CONTROLS)["t"] == "0.5"


def test_back_at_its_start_a_control_leaves_the_url():
    state = with_controls(with_controls(State(), "here", PAGE, {"t": 0.5, "cells": (3, 1)}), "here", PAGE,
                          {"t": 1.0, "cells": ()})
    assert state.control_values == frozenset() and to_params(state, "here", CONTROLS) == {}


@pytest.mark.parametrize("name", list(pages()))
def test_every_page_declares_controls_that_hold_and_collide_with_nothing(name):
    page, _ = pages()[name]
    view = View(kind=Kind.CROSS, layer=1, head=1, token=1, pair=(1, 2), lens="lines", scale="log", transpose=True,
                overlay=((1, 1),), keep=0.5,
                hide_special=True, renormalise=True, words=True, order="entropy", quadrant="AB")
    everything = State("a/b", "text", "b", "c", "0" * 64, view=view, chat=True,
                       user_set=frozenset({"kind", "head", "token", "pair"}))
    names = [each.name for each in page.controls]
    assert len(set(names)) == len(names) and not set(names) & set(to_params(everything))
    assert all(control.clean(control.start) == control.start for control in page.controls)
