"""Every sentence of *From text to vectors*, read again for texts of all kinds and held against counts of one's own; the
numbers of a table against a table that is planted."""
import itertools
import os
import re
from collections import Counter

import numpy as np
import pytest

from model.lessons import contexts, tokenization
from tests.lesson_pages import Shown, shown
from viz.pages.vectors import claims
from viz.text import strings

PROSE = strings("lessons/vectors")
LONG = os.environ.get("CLEARHEAD_HYPOTHESIS") == "long"
BOOKS, TEXTS = PROSE["presets"]["books"], PROSE["presets"]["texts"]
PLACES = [{}, {"typed": "", "book": "", "done": 512}, {"typed": TEXTS["chinese"], "book": BOOKS["chinese"], "done": 0},
          {"typed": "x", "book": BOOKS["low"], "done": 512}]
if LONG:
    PLACES += [{"typed": text, "book": book, "done": done} for text in TEXTS.values() for book in BOOKS.values()
               for done in (0, 1, 7, 512)]
OPEN = {"typed": TEXTS["english"], "book": BOOKS["low"], "done": 3}


def numbers(sentence: str) -> list[float]:
    """Those of a sentence as a reader has them."""
    return [float(each.replace(",", "")) for each in re.findall(r"(?<![\w#.])[-+]?\d[\d,]*\.?\d*", sentence)]


@pytest.mark.parametrize("turned", PLACES, ids=str)
def test_what_is_said_of_pieces_and_merges_is_true_of_them(turned):
    page, where = shown("vectors", guess="a", **turned), OPEN | turned
    says_of_pieces(page, where)
    says_of_merges(page, where)


def says_of_pieces(page: Shown, where: dict) -> None:
    told, red, _ = page.notices["pieces"]
    cut = tokenization.tokenizer_of("minilm").encode(where["typed"], add_special_tokens=False)
    wanted = [len(where["typed"]), len(where["typed"].encode()), len(cut.tokens)]
    assert numbers(told.replace("UTF-8", ""))[:3] == wanted
    assert numbers(red)[0] == cut.tokens.count("[UNK]")
    if not tokenization.on_disk("smollm2"):
        made = tokenization.train_bpe(BOOKS["english"])
        assert numbers(told)[-1] == len(made.encode(where["typed"]).tokens)
    assert f"ids 0 to {tokenization.tokenizer_of('minilm').get_vocab_size() - 1:,}" in page.more["pieces"][0]


def merged(words: list[tuple[list[bytes], int]]) -> Counter:
    """How often each pair of neighbours occurs."""
    counts: Counter = Counter()
    for pieces, times in words:
        for pair in itertools.pairwise(pieces):
            counts[pair] += times
    return counts


def bytes_after(book: str, done: int) -> tuple[int, int, Counter]:
    """Pieces of the text at first and after so many merges, and the pairs that are left; from the bytes alone, in the
    library's order of merges."""
    signs = {sign: bytes([byte]) for byte, sign in _alphabet().items()}
    made = tokenization.train_bpe(book)
    words = Counter(word for word, _ in made.pre_tokenizer.pre_tokenize_str(book))
    split = [([signs[sign] for sign in word], times) for word, times in words.items()]
    before = sum(len(pieces) * times for pieces, times in split)
    for one, other in tokenization.merges(book).pairs[:done]:
        pair = b"".join(signs[sign] for sign in one), b"".join(signs[sign] for sign in other)
        counts = merged(split)
        assert counts[pair] == max(counts.values()) > 1   # the most frequent one is merged
        split = [(_join(pieces, pair), times) for pieces, times in split]
    return before, sum(len(pieces) * times for pieces, times in split), merged(split)


def _alphabet() -> dict[int, str]:
    """GPT-2's signs for bytes: what is printed stands for itself, the others follow from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def _join(pieces: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    joined: list[bytes] = []
    for piece in pieces:
        fresh = joined and (joined[-1], piece) == pair
        joined[-1:] = [joined[-1] + piece] if fresh else [*joined[-1:], piece]
    return joined


def says_of_merges(page: Shown, where: dict) -> None:
    learnt = tokenization.merges(where["book"])
    assert ("merges" in page.notices) == bool(learnt.pairs)
    if not learnt.pairs:
        return
    done = min(where["done"], len(learnt.pairs))
    before, now, left = bytes_after(where["book"], done)
    sentence = page.notices["merges"][0]
    assert numbers(sentence)[:4] == [done, len(learnt.pairs), now, before]
    assert ("first bar is merged next" in sentence) == (bool(left) and max(left.values()) > 1)
    assert ("one piece now" in sentence) == (not left)
    assert ("occur once each" in sentence) == (bool(left) and max(left.values()) == 1)
    assert numbers(page.more["merges"][0]) == [256, done, 256 + done]
    assert numbers(page.alts["vectors-merges"]) == [done, now, before]
    if left:
        assert numbers(page.alts["vectors-candidates"])[-1] == max(left.values())


def test_what_is_said_of_the_chinese_sentence_is_what_the_tokenizers_do():
    page = shown("vectors", guess="d")
    sentence, words = "".join(PROSE["chinese"]["textbook"]), PROSE["chinese"]["textbook"]
    cut = tokenization.tokenizer_of("minilm").encode(sentence, add_special_tokens=False).tokens
    told = numbers(page.notices["chinese"][0])
    assert told[:2] == [cut.count("[UNK]"), len(sentence)] and told[3:5] == [len(sentence), len(sentence.encode())]
    assert 0 < cut.count("[UNK]") < len(cut) and cut != words
    learnt = tokenization.merges(BOOKS["chinese"]).pairs
    made = {tokenization.show_piece("".join(pair)) for pair in learnt}
    assert {"苹果", "天天气"} <= made


def test_before_the_answer_nothing_shows_what_becomes_of_chinese():
    page = shown("vectors")
    assert not page.notices and PROSE["pieces"]["names"]["chinese"] not in page.words
    assert "UNK" not in "".join(word for word in page.words if word != PROSE["predict"]["answers"][3]["text"])


def test_a_wrong_sentence_is_caught():
    page = shown("vectors", guess="a")
    for section, wrong, check in (("pieces", ("67 characters", "68 characters"), says_of_pieces),
                                  ("merges", ("first bar is merged", "last bar is merged"), says_of_merges)):
        check(page, OPEN)
        true = page.notices[section]
        page.notices[section] = [sentence.replace(*wrong) for sentence in true]
        with pytest.raises(AssertionError):
            check(page, OPEN)
        page.notices[section] = true


def test_random_pairs_are_many_enough_that_other_draws_say_the_same():
    """Of a table whose rows share a direction, against all its pairs."""
    rows = np.random.default_rng(3).standard_normal((600, 24)) + 0.3
    unit = rows / np.sqrt((rows**2).sum(1, keepdims=True))
    every = (unit @ unit.T)[~np.eye(600, dtype=bool)]
    _, _, pairs = contexts.neighbours(rows, 5)
    assert pairs.mean() == pytest.approx(every.mean(), abs=0.003)
    assert np.percentile(pairs, 99) == pytest.approx(np.percentile(every, 99), abs=0.006)


@pytest.mark.parametrize(("apart", "alike", "words"), [(1.0, 1.0, "it is one row"), (0.9994, 1.0, "not cut alike"),
                                                       (1.0, 0.9, "not cut alike"), (0.99996, 1.0, "it is one row")])
def test_a_word_is_said_to_begin_as_one_row_only_where_it_does(apart, alike, words):
    layers = np.array([0.2, 0.5])
    found = contexts.Contexts(np.array([apart, 0.6]), np.array([alike, 0.8]), layers, layers, layers, 9, ("ba", "nk"),
                              False, False)
    said = claims.senses(PROSE["contexts"], found, ["table", "input"])
    assert words in said["begins"] and "several pieces" in said["cut"]
    assert (said["left"], said["left_alike"]) == pytest.approx((0.1, 0.3)) and said["base_at"] == "input"
