"""Tokens of two records are aligned where they share characters."""
import functools
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind, Query, quiet
from clearhead.model.studies.alignment import align, equal_words, source_text
from tests.headline import TIRED


def record(model: str, text: str, **more):
    return desk.ask(sources.open_query(model, text, **more), "test").result(120)


def groups(first, second, kinds=(Kind.SELF, Kind.SELF), side="queries"):
    found = align(first, second, kinds, side)
    for at, (each, kind) in enumerate(zip((first, second), kinds, strict=True)):
        members = [token for group in found for token in (group.second if at else group.first)]
        assert sorted(members) == list(range(len(getattr(each[kind], side))))   # every token once
    return found


def test_changed_word_is_aligned():
    found = groups(record("minilm", TIRED), record("minilm", TIRED.replace("tired", "wide")))
    assert [each.text for each in found if "⇄" in each.text] == ["tired ⇄ wide"]
    assert all(each.first == each.second for each in found)


def test_special_tokens_have_an_empty_span():
    text, spans = source_text(record("minilm", TIRED), Kind.SELF, "keys")
    assert spans[0] == spans[-1] == (0, 0) and text[slice(*spans[1])] == "The" and text[slice(*spans[-2])] == "."


def test_inserted_word_stands_alone_at_its_place():
    found = groups(record("minilm", TIRED), record("minilm", TIRED.replace("street", "long street")))
    alone = [place for place, each in enumerate(found) if not each.both]
    assert len(alone) == 1 and found[alone[0]].text == "∅ ⇄ long"
    assert [found[alone[0] + step].text for step in (-1, 1)] == ["the", "street"]
    short = groups(record("minilm", "the cat"), record("minilm", "the big black and white cat"))
    assert [each.text for each in short if each.both] == ["[CLS]", "the", "cat", "[SEP]"]
    assert found[0].text == "[CLS]" and found[-1].text == "[SEP]" and found[-1].both
    found = groups(record("minilm", "the cat! sat"), record("minilm", "the cat sat"))
    assert [each.text for each in found if not each.both] == ["! ⇄ ∅"]


def test_pieces_align_where_they_share_characters():
    found = groups(record("minilm", TIRED), record("translator", TIRED))
    whole = next(each for each in found if len(each.first) > 1)
    assert whole.both and len(whole.first) == 3 and len(whole.second) == 1      # didn, ', t and didn't
    assert {each.text for each in found if not each.second} == {"[CLS] ⇄ ∅", "[SEP] ⇄ ∅"}


def test_tokens_of_a_pair_are_at_their_characters(opened):
    pair = opened("bert").record(Query("bert", "r", "the cat", text_b="a mat"), quiet)
    text, spans = source_text(pair, Kind.SELF, "queries")
    assert [text[slice(*span)] for span in spans] == ["", "the", "cat", "", "a", "mat", ""]


def test_targets_are_aligned():
    first, second = record("translator", TIRED), record("translator", TIRED.replace("tired", "wide"))
    found = groups(first, second, (Kind.CROSS, Kind.CROSS), "queries")
    assert {each.text for each in found if "⇄" in each.text} == {"il ⇄ elle", "fatigué ⇄ large"}


def test_single_characters_are_followed_where_most_are_kept():
    found = groups(record("induction", "k7Qx2bVk7Q"), record("induction", "k7Qx2cVk7"), (Kind.CAUSAL, Kind.CAUSAL))
    assert [each.text for each in found] == ["[BOS]", "k", "7", "Q", "x", "2", "b ⇄ c", "V", "k", "7", "Q ⇄ ∅"]
    found = groups(record("induction", "stand"), record("induction", "stood"), (Kind.CAUSAL, Kind.CAUSAL))
    assert [each.text for each in found] == ["[BOS]", "s", "t", "an ⇄ oo", "d"]   # three of five: just enough
    found = groups(record("minilm", "He didn't sleep."), record("minilm", "He don't sleep."))
    assert "didn ⇄ don" in {each.text for each in found} and sum(each.both for each in found) == len(found)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_equal_words_leave_the_fewest_edits(one, other):
    @functools.cache
    def distance(i, j):
        if not i or not j:
            return i + j
        return min(distance(i - 1, j - 1) + (one[i - 1] != other[j - 1]), distance(i - 1, j) + 1,
                   distance(i, j - 1) + 1)

    found = equal_words(one, other)
    assert all(one[i] == other[j] for i, j in found)
    ends = [(-1, -1), *found, (len(one), len(other))]
    assert sum(max(i_end - i, j_end - j) - 1 for (i, j), (i_end, j_end) in pairwise(ends)) == distance(len(one),
                                                                                                      len(other))
