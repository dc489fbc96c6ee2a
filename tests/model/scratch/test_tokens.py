"""Any text becomes tokens with exact character spans."""
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.scratch.tokens import SPECIALS, HashTokenizer, WordTokenizer, special, tokens, word_spans

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(("text", "expected"), [
    ("The animal didn't cross, it was tired.", ["The", "animal", "didn't", "cross", ",", "it", "was", "tired", "."]),
    ("l’âne 'a' x'", ["l’âne", "'", "a", "'", "x", "'"]),
    ("这个 苹果。", ["这", "个", "苹", "果", "。"]),
    ("a👨‍👩‍👧b👍🏽", ["a", "👨‍👩‍👧", "b", "👍🏽"]),
    ("नमस्ते दुनिया क्ष", ["नमस्ते", "दुनिया", "क्ष"]),
    ("🇫🇷🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿! a1️⃣2️⃣#️⃣", ["🇫🇷", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "!", "a", "1️⃣", "2️⃣", "#️⃣"]),
    ("\u1112\u1161\u11ab한 naïve か\u3099", ["\u1112\u1161\u11ab한", "naïve", "か\u3099"]),
    ("e\u0301te\u0301 \u0301", ["e\u0301te\u0301", "\u0301"]),
    ("می\u200cخواهم שלום", ["می\u200cخواهم", "שלום"]),
    ("\ud800a\x00b", ["\ud800", "a", "\x00", "b"]),
    (" \t\n\u00a0\u3000", []),
])
def test_words_symbols_and_joined_characters_are_split(text, expected):
    assert words(text) == expected


@given(ANY_TEXT)
def test_spans_are_in_order_and_leave_out_only_spaces(text):
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    kept = {i for start, end in spans for i in range(start, end)}
    assert all(text[i].isspace() or text[i] == "\ufeff" for i in range(len(text)) if i not in kept)


def test_tokens_of_a_pair_know_their_segments():
    tokenizer = HashTokenizer(101, 3)
    first, second = tokenizer.pieces("a b a"), tokenizer.pieces("c a")
    pair = tokens([*first, special("[SEP]", 1, 5), *second], second=4)
    assert pair.segments == (0, 0, 0, -1, 1, 1)
    assert pair.special == (False, False, False, True, False, False)
    assert pair.words == (0, 1, 2, -1, 4, 5)
    assert pair.spans[3:] == ((5, 5), (0, 1), (2, 3))


@pytest.mark.parametrize("text", ["l'animal n'a pas traversé parce qu'il", "l' animal n' a pas traversé parce qu' il",
                                  "l’animal n’a pas traversé parce qu’il"])
def test_french_is_read_the_same_joined_and_split(text):
    known = ("l'", "animal", "n'", "a", "pas", "traversé", "parce", "qu'", "il", "là-bas")
    pieces = WordTokenizer((*SPECIALS, *known)).pieces(text)
    assert [each.text.replace("’", "'") for each in pieces] == ["l'", "animal", "n'", "a", "pas", "traversé", "parce",
                                                                "qu'", "il"]
    assert [each.text for each in WordTokenizer((*SPECIALS, *known)).pieces("là-bas qu'")] == ["là-bas", "qu'"]
