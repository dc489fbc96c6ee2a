"""A strip is the sentence with both ends of the cell marked, whatever its tokens contain."""
from viz.pages.corpus.card import strip

ROW = {"tokens": ("[CLS]", "The", "cat", "*sat*", "[SEP]"), "keys": (), "query": 3, "key": 1, "weight": 0.5}


def test_both_ends_are_marked_and_markup_is_text():
    said = strip(ROW)
    assert ":orange-background[**\\*sat\\***]" in said and ":blue-background[**The**]" in said
    assert said.startswith("\\[CLS\\]") and "…" not in said


def test_text_without_the_cell_is_not_marked():
    assert "background" not in strip(ROW | {"query": -1, "key": -1})
    assert strip(ROW | {"keys": ("le", "chat")}) == ":orange-background[**\\*sat\\***] → :blue-background[**chat**]"
