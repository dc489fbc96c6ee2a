from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.core.query import Kind
from model.core.view import View
from viz.link import START, address, from_params, to_params, too_long
from viz.state import State

NUMBERS = st.integers(0, 999_999)
VIEWS = st.builds(View, kind=st.sampled_from(Kind), layer=NUMBERS, head=NUMBERS, token=NUMBERS,
                  pair=st.none() | st.tuples(NUMBERS, NUMBERS),
                  lens=st.sampled_from(["matrix", "lines", "text"]), scale=st.sampled_from(["linear", "root", "log"]),
                  transpose=st.booleans(),
                  overlay=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=7).map(tuple),
                  keep=st.sampled_from([1.0, 0.5, 0.95, 0.1234]),
                  hide_special=st.booleans(), renormalise=st.booleans(), words=st.booleans(),
                  order=st.sampled_from(["layer", "pair", "entropy", "previous"]),
                  quadrant=st.sampled_from(["", "AA", "AB", "BA", "BB"]))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
STATES = st.builds(State, model=st.sampled_from(["minilm", "a/b"]), text=TEXTS, text_b=st.none() | TEXTS,
                   target=st.none() | TEXTS, view=VIEWS,
                   present=st.booleans(), user_set=st.just(frozenset({"kind", "head", "pair", "token", "scale"})))


@given(STATES)
def test_a_link_brings_the_state_back(state):
    query = urlsplit(address("http://localhost:8501/heads?old=1", state)).query
    assert from_params(dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True))) == state


def test_the_start_has_no_parameters():
    assert to_params(START) == {} and from_params({}) == START


HOSTILE = ["-1", "1e9", "NaN", "9" * 40, "1,2,3", "٣", "<script>", "0", "0.0", "1.5", "../../etc/passwd"]
NAMES = ["model", "text", "kind", "layer", "head", "token", "pair", "lens", "scale", "keep", "overlay", "order",
         "words", "quadrant",
         "transpose", "present", "other"]


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=30) | st.sampled_from(HOSTILE)))
def test_hostile_parameters_give_a_state_that_a_link_can_hold(params):
    state = from_params(params)
    assert from_params(to_params(state)) == state


def test_long_texts_stay_out_of_the_link_and_are_told():
    state = State(text="ä" * 751)
    assert "text" not in to_params(state) and too_long(state)
    assert not too_long(State(text="ä" * 750)) and too_long(State(text="lone \ud800 surrogate"))


@pytest.mark.parametrize("value", ["1", "1,", ",", "1,2,3", "a,b", "-1,2", "1 ,2"])
def test_a_pair_that_is_none_is_not_a_choice(value):
    assert "pair" not in from_params({"pair": value}).user_set


def test_a_scale_is_a_choice_also_where_it_is_the_first_one():
    chosen = from_params({"scale": "linear"})
    assert chosen.user_set == {"scale"} and to_params(chosen) == {"scale": "linear"}
    assert from_params({"scale": "cubic"}).user_set == frozenset()


def test_an_empty_pair_is_the_choice_of_none():
    assert "pair" in from_params({"pair": ""}).user_set and from_params({"pair": ""}).view.pair is None
