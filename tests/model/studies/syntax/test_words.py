"""Where words stand in their text and among tokens."""
import numpy as np
import pytest

from model.core.record import Tokens
from model.studies.syntax import Multiword, Sentence, Word, pieces_of, spans_of


def sentence(text, forms, *multiwords):
    return Sentence(1, text, tuple(Word(form, 0, "root") for form in forms), multiwords)


@pytest.mark.parametrize(("text", "forms", "multiwords", "expected"), [
    ("the cat, the dog", ["the", "cat", ",", "the", "dog"], (), [(0, 3), (4, 7), (7, 8), (9, 12), (13, 16)]),
    ("I don't", ["I", "do", "n't"], (Multiword(2, 3, "don't"),), [(0, 1), (2, 4), (4, 7)]),
    ("va au lit", ["va", "à", "le", "lit"], (Multiword(2, 3, "au"),), [(0, 2), None, None, (6, 9)]),
    ("10 000 mètres", ["10 000", "mètres"], (), [(0, 6), (7, 13)]),
    ("我吃苹果", ["我", "吃", "苹果"], (), [(0, 1), (1, 2), (2, 4)]),
    ("the cat", ["the", "dog"], (), None),
    ("cat the", ["the", "cat"], (), None),   # each is looked for behind the one before it
    ("I do", ["I", "do", "n't"], (Multiword(2, 3, "don't"),), None),
])
def test_words_are_found_by_their_characters(text, forms, multiwords, expected):
    found = spans_of(sentence(text, forms, *multiwords))
    assert found == (None if expected is None else tuple(expected))


def test_pieces_share_a_character_with_their_word_and_special_tokens_with_none():
    spans = ((0, 0), (0, 3), (2, 5), (6, 7), (6, 7), (0, 0))
    tokens = Tokens(tuple("sabcde"), (0,) * 6, (True, False, False, False, False, True), spans, (-1,) * 6,
                    (-1, 0, 0, 0, 0, -1), (False,) * 6)
    pieces = pieces_of(tokens, ((0, 2), (2, 5), None, (6, 7), (8, 9)))
    assert [np.flatnonzero(row).tolist() for row in pieces] == [[1], [1, 2], [], [3, 4], []]
