"""The values that a slider accepts from a browser."""
from viz.components.slider import message, parse_event

WORDS = ["none", "1", "2", "the", "the"]


def test_sent_value_is_a_current_option_or_none():
    assert parse_event({"at": 1, "word": "1", "count": 5}, WORDS) == 1
    assert parse_event({"at": 1, "word": "2", "count": 5}, WORDS) == parse_event({"at": 99, "word": "2", "count": 5},
                                                                   WORDS) == 2, "the options have changed"
    assert parse_event({"at": 4, "word": "the", "count": 5}, WORDS) == 4
    assert parse_event({"at": 1, "word": "the", "count": 5}, WORDS) is None
    assert parse_event({"at": True, "word": "1", "count": 5}, WORDS) is None
    assert parse_event({"at": 1, "word": "9", "count": 5}, WORDS) is None
    assert parse_event({"at": 1, "word": "1"}, WORDS) is None and parse_event(None, WORDS) is None
    assert message("x", WORDS, 1, None, {"count": 7})["heard"] == 7
    assert message("x", WORDS, 1, None, {"count": 1e9})["heard"] == 0
