
import dataclasses

import numpy as np
import pytest

from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.viz.components.component import Selection
from clearhead.viz.components.head_view import parse_event
from clearhead.viz.components.messages import unpack
from clearhead.viz.components.picture import Guess, Head
from clearhead.viz.components.token_labels import JOINED, SPECIAL, UNKNOWN, token_axis
from tests import fabricate


def body(*shown, bound=None):
    return unpack(Head(shown, View(), bound).messages()[0])


def state(shown, view, guess=None):
    return unpack(Head((shown,), view).messages(guess=guess)[1])


@pytest.fixture(scope="module")
def made():
    return fabricate.patterned(fabricate.tokens(), heads=(3, 5))


def test_further_heads_lie_over_the_open_one(made):
    shown, further = fabricate.shown(made), [fabricate.shown(made, layer=1, head=head) for head in (0, 2)]
    header, arrays = body(shown, *further)
    assert header["heads"] == [[0, 0], [1, 0], [1, 2]]
    np.testing.assert_allclose((arrays["weights"][2] / 65535) ** 2, further[1].weights, atol=1.6e-5)


def test_positions_become_rows_and_columns(made):
    view = View(lens="lines", scale="log", transpose=True, hide_special=True)
    shown = fabricate.shown(made, hide_special=True)
    header, _ = state(shown, dataclasses.replace(view, token=10, pair=(10, 2)))
    assert (header["focus"], header["pair"]) == (9, [9, 1])
    assert (header["lens"], header["scale"], header["transpose"]) == ("lines", "log", True)
    header, _ = state(shown, dataclasses.replace(view, token=0, pair=(10, 0)))
    assert header["focus"] is None and header["pair"] is None


def test_event_names_tokens_that_are_shown(made):
    shown = Head((fabricate.shown(made, hide_special=True),), View())
    assert parse_event({"token": 10, "pair": None}, shown) == Selection(10, None)
    assert parse_event({"token": 10, "pair": [10, 2]}, shown) == Selection(10, (10, 2))
    assert parse_event({"token": None, "pair": None}, shown) == Selection(None, None)
    assert parse_event({"token": 0, "pair": None}, shown) is None
    assert parse_event({"token": 10, "pair": [10, 0]}, shown) is None


def test_cross_map_has_both_sides_even_if_they_read_the_same():
    tokens = fabricate.tokens(["a", "b", "a"])
    shown = fabricate.shown(fabricate.patterned((tokens, tokens), heads=(2,), kind=Kind.CROSS))
    assert body(shown)[0]["columns"] is not None
    assert body(dataclasses.replace(shown, kind=Kind.SELF))[0]["columns"] is None


def test_difference_keeps_sign_and_size(made):
    shown = fabricate.shown(made)
    changes = np.random.default_rng(3).normal(size=shown.weights.shape).astype(np.float32) / 10
    changes[2], changes[:, 5], changes[0, 0] = np.nan, np.nan, 0
    header, arrays = body(dataclasses.replace(shown, weights=changes, scores=None), bound=0.25)
    codes = arrays["weights"][0].astype(int)
    found = np.where(codes == 0, np.nan, np.where((codes - 1) % 2, 1, -1) * ((codes - 1) // 2) * 0.25 / 32766)
    np.testing.assert_allclose(found, np.clip(changes, -0.25, 0.25), atol=0.25 / 32766)
    order = np.argsort(codes[~np.isnan(changes)])   # a larger code is a larger change, whatever its sign
    assert np.diff(np.abs(np.clip(changes, -0.25, 0.25))[~np.isnan(changes)][order]).min() > -1e-5
    assert header["bound"] == 0.25 and header["absent"] == [[2], [5]] and not header["sums"]


def test_guess_is_sent_and_read_back(made):
    shown = fabricate.shown(made, hide_special=True)
    header, _ = state(shown, View(hide_special=True), Guess("a", True, ((10, 2), (0, 1), (3, 15))))
    assert (header["round"], header["marking"], header["marks"]) == ("a", True, [[9, 1]])
    assert state(shown, View())[0]["marking"] is False
    shown = Head((shown,), View())
    assert parse_event({"marks": [[10, 2], [3, 3]]}, shown) == Selection(None, None, ((10, 2), (3, 3)))
    for value in ({"marks": [[0, 1]]}, {"marks": [None]}, {"marks": "x"}, {"marks": [[10, 2, 3]]},
                  {"marks": [[True, 2]]}, {"marks": [], "token": 1}):
        assert parse_event(value, shown) is None


def test_flags_say_special_unknown_and_joined():
    axis = token_axis(fabricate.tokens(["[CLS]", "flood", "ed", "[UNK]", "[SEP]"], words=[-1, 0, 0, 1, -1]))
    assert axis["flags"] == [SPECIAL, 0, JOINED, UNKNOWN, SPECIAL]
    assert axis["segments"] == [-1, 0, 0, 0, -1]
