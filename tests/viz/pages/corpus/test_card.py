"""A strip is the sentence with both ends of the cell marked, whatever its tokens hold."""
from viz.pages.corpus.card import AROUND, strip

ROW = {"tokens": ("[CLS]", "The", "cat", "*sat*", "[SEP]"), "keys": (), "query": 3, "key": 1, "weight": 0.5}


def test_both_ends_are_marked_and_markup_is_text():
    said = strip(ROW)
    assert ":orange-background[**\\*sat\\***]" in said and ":blue-background[**The**]" in said
    assert said.startswith("\\[CLS\\]") and "…" not in said


def test_a_token_that_looks_at_itself_is_marked_once():
    assert strip(ROW | {"key": 3}).count("background") == 1


def test_of_a_long_text_the_part_round_the_cell_is_shown():
    said = strip(ROW | {"tokens": tuple(f"w{place}" for place in range(60)), "query": 30, "key": 28})
    assert said.startswith("… w19 ") and said.endswith(" w39 …") and said.count("w") == 2 * AROUND + 3


def test_a_text_without_such_a_cell_and_one_of_two_sides_are_said():
    assert "background" not in strip(ROW | {"query": -1, "key": -1})
    assert strip(ROW | {"keys": ("le", "chat")}) == ":orange-background[**\\*sat\\***] → :blue-background[**chat**]"
