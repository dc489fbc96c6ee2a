"""Untrusted URLs: every parameter of every page, with any value, gives a valid state and a view that can be drawn."""
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.view import displayed_head
from clearhead.viz.app.link import from_params, to_params
from clearhead.viz.app.page import Page, pages, with_controls
from clearhead.viz.app.state import State, complete_view
from tests.fabricate import record
from tests.hostile import JSON, NUMBERS, PIECES, TEXTS, examples

OWN = ("model", "text", "text_b", "target", "image", "kind", "layer", "head", "token", "pair", "lens", "scale", "order",
       "quadrant", "transpose", "hide_special", "renormalise", "words", "keep", "overlay")
VALUES = st.one_of(TEXTS, st.sampled_from((*NUMBERS, *PIECES)),
                   st.from_regex(r"[0-9]{1,7}([.,][0-9]{1,7}){0,9}", fullmatch=True),
                   st.sampled_from(("matrix", "self", "cross", "causal", "1", "log", "AB", "entropy", "pair", "0.5",
                                    "3,1", "0.1,1.2", "a" * 64, "A" * 64, "a" * 63)))
RECORDS = {kind: record(7, kind) for kind in (Kind.SELF, Kind.CAUSAL)}
PAGES = {name: page for name, (page, _) in pages().items()}


@pytest.mark.parametrize("name", list(PAGES))
def test_any_parameters_give_a_state(name):
    controls = PAGES[name].controls
    names = (*OWN, *(each.name for each in controls), "embed", "unknown", "")

    @examples(50)
    @given(st.dictionaries(st.sampled_from(names), VALUES, max_size=8))
    def check(params):
        state = from_params(params, name, controls)
        written = to_params(state, name, controls)
        assert from_params(written, name,
                           controls) == from_params(to_params(from_params(written, name, controls), name, controls),
                                                    name, controls)
        assert all(isinstance(value, str) for value in written.values()) and set(written) <= set(names)
        assert dict(parse_qsl(urlencode(written), keep_blank_values=True)) == written
        for each in controls:
            value = state.controls_of(name).get(each.name, each.start)
            assert value == each.start or each.clean(value) == value, (each.name, value)

    check()


@examples(400)
@given(st.dictionaries(st.sampled_from(OWN), VALUES, max_size=10), st.sampled_from(list(RECORDS)))
def test_any_link_opens_an_existing_head_or_says_why_not(params, kind):
    state = from_params(params)
    view = complete_view(state, RECORDS[kind])
    attention_map = RECORDS[kind][view.kind]
    assert attention_map.has(view.layer, view.head) and 0 <= view.token < 7
    assert all(attention_map.has(*each) for each in view.overlay)
    assert view.pair is None or all(0 <= each < 7 for each in view.pair)
    try:
        shown = displayed_head(RECORDS[kind], view)
    except UserError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        assert shown.weights.shape == (len(shown.rows), len(shown.columns))


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.controls])
def test_control_takes_valid_values_only(name):
    page: Page = PAGES[name]

    @examples(30)
    @given(st.dictionaries(st.sampled_from([each.name for each in page.controls]), JSON, max_size=4))
    def check(changes):
        state = with_controls(State(), name, page, changes)
        for each in page.controls:
            value = state.controls_of(name).get(each.name, each.start)
            assert value == each.start or each.clean(value) == value
        assert from_params(to_params(state, name, page.controls), name,
                           page.controls).controls_of(name) == state.controls_of(name)

    check()
