"""What the two sides of a comparison are called."""
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests import fabricate
from viz.pages.compare.difference import LONG, SHORT, _sides, of_sentences


@pytest.mark.parametrize(("one", "other", "short"), [
    ("it was too tired.", "it was too wide.", ("tired", "wide")), ("a b c.", "a d e", ("b c", "d e")),
    ("same", "same", ("this sentence", "the other sentence")), ("a b", "a", ("this sentence", "the other sentence"))])
def test_sentences_are_called_by_the_words_that_one_of_them_has(one, other, short):
    assert of_sentences(one, other).short == short and of_sentences(one, other).long == (one, other)


def test_names_have_room():
    names = of_sentences("a " * 90 + "tired" * 9, "a " * 90 + "wide")
    assert all(len(name) <= LONG for name in names.long) and all(len(name) <= SHORT for name in names.short)


def test_models_edits_and_heads():
    first = fabricate.record(5)
    second = replace(first, card=replace(first.card, title="Another"))
    heads = ((0, 1), (1, 2))
    model, edit, head = (SimpleNamespace(controls={"versus": way, "edit": "zero"}) for way in ("model", "edit", "head"))
    assert _sides(model, (first, second), heads).long == (first.card.title, "Another")
    assert _sides(model, (first, first), heads).short == ("0·1", "1·2"), "one model held against itself"
    assert _sides(edit, (first, first), heads).long == ("unchanged", "silenced: zeros")
    assert _sides(head, (first, first), heads).short == ("0·1", "1·2")
