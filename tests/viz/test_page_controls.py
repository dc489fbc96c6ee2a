"""A page's own controls: typed, validated, in the URL, and separate from other pages'."""


from viz.link import to_params
from viz.page import Page, with_controls
from viz.page_controls import Choice, Number, Numbers, Places, Switch
from viz.state import State

CONTROLS = (Number("t", 1.0, 0.01, 100), Number("n", 3, 0, 11, whole=True), Choice("row", "own", ("own", "head")),
            Switch("inside"),
            Numbers("z", (1.0, 2.0), -10, 10, 2, 5), Places("cells", 64, 7))
PAGE = Page("nothing", CONTROLS)


def test_controls_stay_on_their_page_and_survive_leaving_it():
    state = with_controls(with_controls(State(), "here", PAGE, {"t": 0.5}), "there", PAGE, {"t": 7.0})
    assert to_params(state, "here", CONTROLS) == {"t": "0.5"} and to_params(state, "there", CONTROLS) == {"t": "7"}
    assert to_params(state) == {} and to_params(state.with_question(text="another"), "here", CONTROLS)["t"] == "0.5"


def test_control_at_its_default_leaves_the_url():
    state = with_controls(with_controls(State(), "here", PAGE, {"t": 0.5, "cells": (3, 1)}), "here", PAGE,
                          {"t": 1.0, "cells": ()})
    assert state.control_values == frozenset() and to_params(state, "here", CONTROLS) == {}
