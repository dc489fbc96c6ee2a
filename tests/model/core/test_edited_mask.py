"""Which masks a question's edits change, and into what."""
import pytest

from model.core.edited_mask import edited_mask
from model.core.masks import Causal, Full, Hidden, Narrowed
from model.core.query import Hide, Kind, Query, Silence, UserError, Window


def test_a_mask_that_no_edit_changes_is_the_very_same():
    base = Causal()
    edits = {Silence(Kind.CAUSAL, 0, 0), Hide("source", 1)}
    assert edited_mask(base, edits, Kind.CAUSAL, "target") is base
    assert edited_mask(base, set(), Kind.CAUSAL, "source") is base


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CROSS])
def test_a_window_leaves_what_looks_both_ways_as_it_is(kind):
    base = Full()
    assert edited_mask(base, {Window(2, 1)}, kind, "source") is base


def test_a_window_and_hidden_tokens_hold_together():
    edits = {Window(2, 1), Hide("source", 3), Hide("source", 0), Hide("target", 5)}
    assert edited_mask(Causal(), edits, Kind.CAUSAL, "source") == Hidden(Narrowed(Causal(), 2, 1), (0, 3))


def test_two_windows_and_windows_without_a_key_are_refused_in_a_sentence():
    with pytest.raises(UserError, match="Two windows"):
        Query("m", "r", "a", edits=frozenset({Window(2), Window(3)}))
    for numbers in ((0, 4), (-1, 0), (3, -1), (10**10, 0)):
        with pytest.raises(UserError, match="choose numbers in that range"):
            Window(*numbers)
