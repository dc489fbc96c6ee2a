"""Words, choices and counts by hand; the null distribution of exchanged trees."""
from dataclasses import fields, replace

import numpy as np
import pytest

from clearhead.model.core.attention import Full
from clearhead.model.core.query import Kind, quiet
from clearhead.model.core.record import AttentionMap, Omission, Reported
from clearhead.model.core.tokens import Tokens
from clearhead.model.studies import syntax
from clearhead.model.studies.syntax import NOTHING, Choices, Multiword, Sentence, Word
from tests import fabricate


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
    found = syntax.spans_of(sentence(text, forms, *multiwords))
    assert found == (None if expected is None else tuple(expected))


def test_pieces_share_a_character_with_their_word():
    spans = ((0, 0), (0, 3), (2, 5), (6, 7), (6, 7), (0, 0))
    for unknown, last in (((False,) * 6, [3, 4]), ((False, False, False, True, True, False), [])):
        tokens = Tokens(tuple("sabcde"), (0,) * 6, (True, False, False, False, False, True), spans, (-1,) * 6,
                        (-1, 0, 0, 0, 0, -1), unknown)
        pieces = syntax.pieces_of(tokens, ((0, 2), (2, 5), None, (6, 7), (8, 9)))
        assert [np.flatnonzero(row).tolist() for row in pieces] == [[1], [1, 2], [], last, []]


# tokens: [CLS], a, b b, c; the fourth word has none
PIECES = np.array([[0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], bool)


def head_map(rows, allowed, *, count=5):
    weights = np.array(rows, np.float32)[None]
    tokens = fabricate.tokens(count)
    return AttentionMap(Kind.SELF, tokens, tokens, (Reported(0, weights, allowed),))


def test_pieces_are_summed_and_averaged():
    rows = [[1, 0, 0, 0, 0],
            [.5, .1, .1, .1, .2],      # a: b has .1 + .1, c .2: neither
            [.5, .3, .05, .05, .1],    # b: a (.3 + 0) / 2 = .15, c (.1 + .25) / 2 = .175
            [.5, 0, .125, .125, .25],
            [0, .3, .2, .2, .3]]       # c: b .4 against a .3; itself does not count
    looked, may = syntax.looked_at_most(head_map(rows, Full()), PIECES)
    assert looked.tolist() == [[NOTHING, 2, 1, NOTHING]]
    assert may.tolist() == [[False, True, True, False], [True, False, True, False], [True, True, False, False],
                            [False] * 4]


def test_sentences_left_out_are_counted():
    sentence = Sentence(1, "   ab cd", (Word("ab", 0, "root"), Word("cd", 1, "obj")), ())
    one, other = (record_of(sentence.text), sentence, 7), Sentence(9, "x", (Word("y", 0, "root"),), ())
    lost = record_of("x"), other, 8
    long = (replace(record_of(sentence.text), omitted=Omission(1, "cd", 2)), sentence, 9)
    both = syntax.choices_of([one, lost, long, one])
    assert (both.not_found, both.too_long, both.numbers.tolist()) == (1, 1, [7, 7])
    assert both.looked.shape == (len(both.heads), 4) and both.relations.tolist() == ["root", "obj"] * 2
    assert both.tree.tolist() == [-1, 0, -1, 0] and both.placed.all()
    assert both.looked.tolist() == [[1, 0, 1, 0]] * len(both.heads)
    assert syntax.choices_of([lost]).not_found == 1 and not len(syntax.choices_of([lost]).numbers)


def record_of(text, **options):
    return fabricate.record(["[CLS]", "ab", "cd"], text=text, **options)


HEADS = ((0, 0), (0, 1))


def choices(number, tree, relations, looked, placed=None):
    """Build the choices in one sentence. tree: heads' numbers from 1, as in treebanks; looked: [head][word], from 0."""
    count = len(tree)
    return Choices(HEADS, np.array([number]), np.array([number]), np.array([count]), np.array(looked, np.int16),
                   np.ones(count, bool) if placed is None else np.array(placed), np.array(tree, np.int16) - 1,
                   np.array(relations), np.ones((2, count), bool))


# the cat ate fish: head 0·0 follows det and obj from the dependent, 0·1 looks from the heads at what depends on them
EVEN = choices(0, [2, 3, 0, 3], ["det", "nsubj", "root", "obj"], [[1, 0, 1, 2], [1, 0, 1, 0]])
ODD = choices(3, [2, 0, 2], ["nsubj", "root", "obj"], [[1, 2, 1], [2, 2, 0]])


def test_relation_without_a_position_is_left_out():
    lost = choices(0, [2, 3, 0, 3], ["det", "nsubj", "root", "obj"], EVEN.looked, [True, False, True, True])
    counts = syntax.counts_of(lost)
    assert counts.n.sum(1).tolist() == [0, 0, 1] and counts.unplaced == 2   # det and nsubj have the word on an end


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_merged_counts_are_those_of_all(order):
    lost = replace(choices(4, [], [], [[], []]), numbers=np.zeros(0), units=np.zeros(0, int), lengths=np.zeros(0, int),
                   too_long=1)
    parts = [EVEN, ODD, lost, choices(5, [0, 1], ["root", "amod"], [[1, 0], [1, 0]])]
    names = [field.name for field in fields(Choices)]
    joined = Choices(HEADS, *(np.concatenate([getattr(each, name) for each in parts], -1) for name in names[1:9]), 0, 1)
    whole, total = syntax.counts_of(joined), syntax.merge(*(syntax.counts_of(parts[place]) for place in order))
    assert (total.names, total.heads) == (whole.names, whole.heads)
    assert all((getattr(total, name) == getattr(whole, name)).all() for name in ("n", "right", "near", "possible"))
    assert [getattr(total, name) for name in ("sentences", "not_found", "too_long", "unplaced")] == [3, 0, 1, 0]


def test_trees_are_exchanged_at_equal_length():
    lengths, rng = np.array([3, 5, 3, 4, 3, 5, 9]), np.random.default_rng(0)
    seen = {tuple(syntax.exchanged(lengths, rng)) for _ in range(300)}
    assert len(seen) == 6 * 2   # all orders of three and of two
    for giver in seen:
        assert sorted(giver) == list(range(7)) and (lengths[list(giver)] == lengths).all()
    assert syntax.alone(lengths) == 2


def test_null_of_a_sentence_without_others():
    single = choices(0, [0, 1, 1], ["root", "a", "b"], [[1, 0, 0], [0, 2, 1]])
    own = syntax.counts_of(single)
    found = syntax.luck(single, own.names, quiet)
    assert (found == [syntax.accuracies(own, row).max() for row in (0, 1)]).all()
    assert own.names == ("a", "b")
