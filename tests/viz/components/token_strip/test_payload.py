
from tests import fabricate
from viz.components.component import Selection, parse_selection
from viz.components.messages import unpack
from viz.components.token_strip import body


def test_body_contains_the_tokens():
    header, arrays = unpack(body(fabricate.tokens(), room="r"))
    assert header["tokens"]["texts"] == fabricate.SENTENCE and not arrays


def test_event_is_parsed_as_a_choice():
    every = range(7)
    assert parse_selection({"token": 3, "pair": [3, 5]}, every, every) == Selection(3, (3, 5))
    assert parse_selection({"token": None, "pair": None}, every, every) == Selection(None)
    assert parse_selection({"token": 2}, every) == Selection(2)
    assert parse_selection({"token": 2, "pair": [2, 3]}, every) is None, "without keys there are no pairs"
