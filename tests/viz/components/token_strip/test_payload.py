import pytest

from tests import fabricate
from viz.components.messages import unpack
from viz.components.token_strip import StripEvent, body, parse_event, state


def test_the_body_holds_the_tokens():
    header, arrays = unpack(body(fabricate.tokens(), room="r"))
    assert header["tokens"]["texts"] == fabricate.SENTENCE and not arrays


def test_the_state_holds_the_choice():
    header, _ = unpack(state(room="r", focus=10, pair=(10, 2)))
    assert (header["focus"], header["pair"], header["pairs"]) == (10, [10, 2], True)


def test_an_event_is_a_choice():
    assert parse_event({"token": 3, "pair": [3, 5]}, 7) == StripEvent(3, (3, 5))
    assert parse_event({"token": None, "pair": None}, 7) == StripEvent(None, None)


@pytest.mark.parametrize("hostile", [None, 1, "a", {}, {"token": 7, "pair": None}, {"token": 10**9, "pair": None},
                                     {"token": float("nan"), "pair": None},
                                     {"token": 0, "pair": [0, 7]}, {"token": 0, "pair": [0, None]},
                                     {"token": "0", "pair": None}])
def test_a_hostile_value_is_no_event(hostile):
    assert parse_event(hostile, 7) is None
