"""Pieces against WordPiece written out by hand and against bytes; merges against counting, and against what the library
itself then cuts."""
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.lessons import vectors
from model.pretrained.tokens import bytes_by_sign
from viz.text import strings

TEXTS = ("Unbelievable! The café's tokenizer isn't naïve.", "今天天气怎么样？", "x_1 ** 2  # ok", "👩‍🚀 ≈ π\tü", "")
BOOK = "low low low low low lower lower newest newest newest newest newest newest widest widest widest"


def greedy(word: str, vocabulary: set[str]) -> list[str]:
    """WordPiece by its definition: from the left the longest piece that there is, ## inside a word; [UNK] for the word
    if there is none."""
    found, start = [], 0
    while start < len(word):
        ends = (end for end in range(len(word), start, -1) if ("##" if start else "") + word[start:end] in vocabulary)
        end = next(ends, None)
        if end is None:
            return ["[UNK]"]
        found.append(("##" if start else "") + word[start:end])
        start = end
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_wordpiece_is_the_longest_piece_from_the_left(text):
    cut = vectors.cut(text, "minilm")
    vocabulary = set(vectors.tokenizer_of("minilm").get_vocab())
    assert [piece for piece, added in zip(cut.pieces, cut.special, strict=True) if not added] == [
        piece for word in cut.words for piece in greedy(word, vocabulary)]
    assert cut.vocabulary == len(vocabulary)
    assert [vectors.tokenizer_of("minilm").id_to_token(each) for each in cut.ids] == list(cut.pieces)
    assert [each == "[UNK]" for each in cut.pieces] == list(cut.unknown)


def test_labels_are_what_was_typed_and_the_textbooks_split_is_nobodys():
    minilm, own = vectors.cut("今天天气怎么样？", "minilm"), vectors.cut_by_own("今天天气怎么样？", BOOK)
    assert minilm.labels[:3] == ("[CLS]", "[UNK] 今", "天") and sum(minilm.unknown) == 5 and minilm.count == 8
    assert own.labels[:3] == ("今₁", "今₂", "今₃")
    assert own.count == len("今天天气怎么样？".encode()) and not any(own.unknown)
    assert vectors.cut("Café", "minilm").normalised == "cafe"
    assert vectors.cut_by_own("Café", BOOK).normalised == "Café"


@given(st.text(max_size=40))
def test_byte_level_pieces_are_the_bytes_of_the_text(text):
    cut = vectors.cut_by_own(text, BOOK)
    assert bytes(bytes_by_sign()[sign] for sign in "".join(cut.pieces)) == text.encode()


@given(st.text("ab c天", max_size=60))
def test_every_merge_is_of_a_most_frequent_pair_and_lengths_count_the_pieces(book):
    found = vectors.merges(book)
    for done, pair in enumerate(found.pairs):
        counts = vectors.pair_counts(found.words, found.pairs[:done])
        assert counts[pair] == max(counts.values()) >= 2
    assert max(vectors.pair_counts(found.words, found.pairs).values(), default=0) < 2
    for done in (0, len(found.pairs)):
        assert found.lengths[done] == sum(times * len(vectors.apply(word, found.pairs[:done]))
                                          for word, times in found.words)


def test_merges_in_their_order_are_what_the_library_cuts():
    made, found = vectors.train_bpe(BOOK), vectors.merges(BOOK)
    for text in (BOOK, " lowest newer wide", "slow  westerly"):
        words = [word for word, _ in made.pre_tokenizer.pre_tokenize_str(text)]
        assert [piece for word in words for piece in vectors.apply(word, found.pairs)] == made.encode(text).tokens


def test_sennrichs_words_are_merged_as_in_his_paper():
    """Algorithm 1 on low, lower, newest, widest: es, est and lo, low are among the first merges; est is counted in
    newest and widest."""
    found = vectors.merges(BOOK)
    first = [(vectors.show_piece(one), vectors.show_piece(other)) for one, other in found.pairs[:4]]
    assert set(first) == {("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")}
    counts = vectors.pair_counts(found.words, ())
    assert counts[("e", "s")] == 9 and Counter(dict(found.words)).total() == len(BOOK.split())
    assert json.loads(vectors.train_bpe(BOOK).to_str())["model"]["type"] == "BPE"


def test_merging_a_pair_takes_it_from_the_left():
    assert vectors.merge_pair(("a", "a", "a", "b"), ("a", "a")) == ("aa", "a", "b")
    assert vectors.show_piece("Ġlow") == "␣low" and vectors.show_piece("ä»") == "E4 BB"
    assert vectors.show_piece("å¤©æ") == "天 E6"


def test_the_chinese_text_of_the_page_learns_a_word_and_what_is_no_word():
    book = strings("lessons/vectors")["presets"]["books"]["chinese"]
    merges = vectors.merges(book)
    learnt = {vectors.show_piece(piece) for word, _ in merges.words
              for piece in vectors.apply(word, merges.pairs)}
    assert {"苹果", "天天气"} <= learnt and "今天" not in learnt
