"""What a head looks at most, on matrices that one can check by eye."""

import numpy as np
import pytest

from model.core.masks import Causal, Dense, Full, Window
from model.core.query import Kind
from model.core.record import AttentionMap, Reported
from model.studies.syntax import NOTHING, Sentence, Word, allowed_between, choices_of, join, left_out, looked_at_most
from tests import fabricate

# tokens: [CLS], a, b b, c; the fourth word has none
PIECES = np.array([[0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], bool)


def head_map(rows, allowed, *, count=5):
    weights = np.array(rows, np.float32)[None]
    tokens = fabricate.tokens(count)
    return AttentionMap(Kind.SELF, tokens, tokens, (Reported(0, weights, allowed),))


def test_pieces_looked_at_are_summed_and_pieces_that_look_are_averaged():
    rows = [[1, 0, 0, 0, 0],
            [.5, .1, .1, .1, .2],      # a: b has .1 + .1, c .2: the earlier one
            [.5, .3, .05, .05, .1],    # b: a (.3 + 0) / 2 = .15, c (.1 + .25) / 2 = .175
            [.5, 0, .125, .125, .25],
            [0, .3, .2, .2, .3]]       # c: b .4 against a .3; itself does not count
    looked, may = looked_at_most(head_map(rows, Full()), PIECES)
    assert looked.tolist() == [[1, 2, 1, NOTHING]]
    assert may.tolist() == [[False, True, True, False], [True, False, True, False], [True, True, False, False],
                            [False] * 4]


def test_a_pair_is_allowed_where_a_piece_may_look_at_a_piece():
    assert allowed_between(Window(1), PIECES)[:3, :3].tolist() == [[False] * 3, [True, False, False],
                                                                  [False, True, False]]
    by_head = Dense(np.stack([np.ones((5, 5), bool), np.eye(5, dtype=bool)]))
    assert [each.sum() for each in allowed_between(by_head, PIECES)] == [6, 0]
    many = np.eye(300, dtype=bool)   # more tokens than one block of rows
    assert (allowed_between(Causal(), many) == np.tril(np.ones((300, 300), bool), -1)).all()


def test_sentences_left_out_join_with_those_that_are_read():
    sentence = Sentence(1, "   ab cd", (Word("ab", 0, "root"), Word("cd", 1, "obj")), ())
    one = choices_of(record_of(sentence.text), sentence, 7)
    lost = choices_of(record_of("x"), Sentence(9, "x", (Word("y", 0, "root"),), ()), 8)
    both = join([one, lost, left_out(too_long=2), one])
    assert (both.not_found, both.too_long, both.numbers.tolist()) == (1, 2, [7, 7])
    assert both.looked.shape == (len(one.heads), 4) and both.relations.tolist() == ["root", "obj"] * 2
    assert both.tree.tolist() == [-1, 0, -1, 0] and both.placed.all()
    assert both.looked.tolist() == [[1, 0, 1, 0]] * len(one.heads)
    assert join([lost]).not_found == 1 and not len(join([lost]).numbers)
    with pytest.raises(ValueError, match="same heads"):
        join([one, choices_of(record_of(sentence.text, layers=1), sentence, 0)])


def record_of(text, **options):
    return fabricate.record(["[CLS]", "ab", "cd"], text=text, **options)
