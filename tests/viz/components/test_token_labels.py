import pytest

from tests.viz.components import fabricated
from viz.components.token_labels import JOINED, SPECIAL, UNKNOWN, label, token_axis


@pytest.mark.parametrize("text, wanted", [
    ("cat", "cat"), (" cat", "␣cat"), ("  ", "␣␣"), ("a b", "a b"), ("\n", "⏎"), ("\t", "⇥"), ("\x00", "U+0000"), ("\u202ertl", "U+202Ertl"),
    ("\ud83d", "U+D83D"), ("漢字", "漢字"), ("<b>", "<b>"), ("", ""), ("␣", "␣"),
    ("👩\u200d💻", "👩\u200d💻"), ("\u200d", "U+200D"), ("שלום", "שלום"),
])
def test_everything_is_visible_and_nothing_acts(text, wanted):
    assert label(text) == wanted
    assert label(wanted) == wanted


def test_flags_say_special_unknown_and_joined():
    axis = token_axis(fabricated.tokens(["[CLS]", "flood", "ed", "?", "[SEP]"], words=[-1, 0, 0, 1, -1], unknown=(3,)))
    assert axis["flags"] == [SPECIAL, 0, JOINED, UNKNOWN, SPECIAL]
    assert axis["segments"] == [-1, 0, 0, 0, -1]
