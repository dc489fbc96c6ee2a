
from tests import fabricate
from viz.components.messages import unpack
from viz.components.token_strip import StripEvent, body, parse_event


def test_body_contains_the_tokens():
    header, arrays = unpack(body(fabricate.tokens(), room="r"))
    assert header["tokens"]["texts"] == fabricate.SENTENCE and not arrays


def test_event_is_parsed_as_a_choice():
    assert parse_event({"token": 3, "pair": [3, 5]}, 7) == StripEvent(3, (3, 5))
    assert parse_event({"token": None, "pair": None}, 7) == StripEvent(None, None)
