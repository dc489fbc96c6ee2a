"""What the two sides of a comparison are called."""
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests import fabricate
from viz.pages.compare.difference import LONG, SHORT, _sides, of_sentences

LONG_TEXT = "When the evening came the tired animal lay down in the shade of the old tree beside the quiet street."


@pytest.mark.parametrize(("one", "other", "short"), [
    ("it was too tired.", "it was too wide.", ("tired", "wide")),
    ("the street", "the long street", ("the", "the long")),
    ("the long street", "long street", ("the long", "long")),
    ("a b c.", "a b", ("b c", "b")),
    ("same", "same", ("this sentence", "the other sentence")),
    ("x" * 80 + "1", "x" * 80 + "2", ("this sentence", "the other sentence")),
])
def test_sentences_are_called_by_the_words_that_differ(one, other, short):
    assert of_sentences(one, other).short == short


def test_a_short_sentence_stands_whole_and_of_a_long_one_what_is_round_the_difference():
    assert of_sentences("it was tired.", "it was wide.").long == ("it was tired.", "it was wide.")
    names = of_sentences(LONG_TEXT, LONG_TEXT.replace("tired", "hungry"))
    assert all(name.startswith(f"… the evening came the {word} animal lay down in")
               for name, word in zip(names.long, ("tired", "hungry"), strict=True))
    assert all(len(name) <= LONG + 4 for name in names.long) and all(len(name) <= SHORT for name in names.short)


@pytest.mark.parametrize("one", ["", "a", "a b", "a b c a b", "a a a a"])
@pytest.mark.parametrize("other", ["", "b", "b a", "a b x a b", "a a a"])
def test_any_two_sentences_have_two_names(one, other):
    names = of_sentences(one, other)
    assert len(set(names.short)) == 2 and all(names.short)


def test_models_edits_and_heads():
    first = fabricate.record(5)
    second = replace(first, card=replace(first.card, title="Another"))
    heads = ((0, 1), (1, 2))
    model, edit, head = (SimpleNamespace(controls={"versus": way, "edit": "zero"}) for way in ("model", "edit", "head"))
    assert _sides(model, (first, second), heads).long == (first.card.title, "Another")
    assert _sides(model, (first, first), heads).short == ("0·1", "1·2"), "one model held against itself"
    assert _sides(edit, (first, first), heads).long == ("as it stands", "silenced: zeros")
    assert _sides(head, (first, first), heads).short == ("0·1", "1·2")
