import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.viz.app.state import LONG, State, complete_view, readable_scale, tenth_weight
from clearhead.viz.style.theme import strength
from tests.fabricate import pictured, record

N = 7
OWN = State(model="fake", text="the text")


def test_strongest_head_for_the_pair_opens():
    answer = record(N)
    view = complete_view(OWN.with_view(pair=(3, 5)), answer)
    assert (view.layer, view.head) == heads.rank_heads_for_pair(answer[Kind.SELF], 3, 5)[0][:2]
    assert view.pair == (3, 5) and view.token == 3


def test_missing_choices_are_dropped():
    state = OWN.with_view(head=(99, 0), pair=(2, 99), token=400, kind=Kind.CROSS, overlay=((0, 1), (50, 2)))
    view = complete_view(state, record(N))
    assert record(N)[Kind.SELF].has(view.layer, view.head) and view.kind is Kind.SELF
    assert view.pair is None and view.token < N and view.overlay == ((0, 1),)


def test_pair_and_token_end_with_their_text():
    state = OWN.with_view(pair=(3, 5), token=3).with_question(text="shorter")
    assert state.user_set == frozenset()


def test_controls_stay_on_their_page_and_survive_leaving_it():
    state = OWN.with_control_values("here", t=0.5).with_control_values("there", t=7.0)
    for later in (state, state.with_question(text="another")):
        assert (later.controls_of("here"), later.controls_of("there")) == ({"t": 0.5}, {"t": 7.0})


def test_scale_fits_a_long_matrix_unless_chosen():
    long, short = record(60), record(N)
    assert complete_view(OWN, long).scale != "linear" and complete_view(OWN, short).scale == "linear"
    state = OWN.with_view(scale="linear")
    for later in (state, state.with_question(text="another"), state.with_question(model="other")):
        assert complete_view(later, long).scale == "linear"


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_tenth_weight_comes_from_the_median_row(kind):
    attention_map = record(LONG + 30, kind)[kind]
    for layer in attention_map.layers:
        for head in range(layer.heads):
            rows = [sorted(row[row > 0], reverse=True) for row in heads.weights(layer, head)]
            wanted = np.median([row[9] for row in rows if len(row) > 9])
            assert tenth_weight(attention_map, View(kind, layer.index, head)) == pytest.approx(wanted)


def test_short_row_uses_the_linear_scale():
    assert tenth_weight(record(LONG)[Kind.SELF], View()) is None and readable_scale(None) == "linear"


@pytest.mark.parametrize(("tenth", "scale"), [(0.2, "linear"), (0.09, "root"), (0.011, "root"), (0.009, "log"),
                                              (0.0003, "log"), (0.00001, "log")])
def test_first_scale_that_shows_it_is_chosen(tenth, scale):
    assert readable_scale(tenth) == scale
    assert tenth < 0.0002 or strength(np.array(tenth), scale) >= 0.1


def test_written_tokens_belong_to_their_text_and_the_last_is_in_focus():
    written = State().with_question(continuation=(7, 8))
    answer = record(N)
    assert complete_view(written, answer).token == len(answer.maps[0].queries) - 1
    assert written.with_view(head=(0, 1)).continuation == (7, 8)
    assert written.with_question(text="Another.").continuation == written.with_question(model="b").continuation == ()


def test_picture_opens_over_its_patches_unless_another_lens_was_chosen():
    made = pictured()
    lenses = [complete_view(state, made).lens for state in (State(), State().with_view(lens="matrix"))]
    assert lenses == ["picture", "matrix"] and complete_view(State().with_view(lens="picture"),
                                                             record(N)).lens == "matrix"
