"""Counts that add up, against choices that one can check by eye."""
import numpy as np
import pytest

from model.studies.syntax import (
    OFFSETS,
    Choices,
    count_right,
    counts_of,
    forest,
    join,
    left_out,
    merge,
    pairs_of,
)

HEADS = ((0, 0), (0, 1))


def choices(number, tree, relations, looked, placed=None):
    """Of one sentence. tree: numbers of heads from 1, as treebanks write them; looked: [head][word], from 0."""
    count = len(tree)
    return Choices(HEADS, np.array([number]), np.array([count]), np.array(looked, np.int16),
                   np.ones(count, bool) if placed is None else np.array(placed), np.array(tree, np.int16) - 1,
                   np.array(relations), np.ones((2, count), bool))


# the cat ate fish: head 0·0 follows det and obj from the dependent, 0·1 looks from the heads at what depends on them
EVEN = choices(0, [2, 3, 0, 3], ["det", "nsubj", "root", "obj"], [[1, 0, 1, 2], [1, 0, 1, 0]])
ODD = choices(3, [2, 0, 2], ["nsubj", "root", "obj"], [[1, 2, 1], [2, 2, 0]])


def test_each_head_is_counted_from_both_words_by_half():
    counts = counts_of(join([EVEN, ODD]))
    assert counts.names == ("det", "nsubj", "obj") and counts.n.tolist() == [[1, 0], [1, 1], [1, 1]]
    right = {name: counts.right[row].tolist() for row, name in enumerate(counts.names)}
    assert right["det"] == [[[1, 1], [1, 1]], [[0, 0], [0, 0]]]   # both look from "the" at "cat", and back
    assert right["nsubj"] == [[[0, 0], [1, 1]], [[1, 0], [0, 0]]]
    assert right["obj"] == [[[1, 0], [0, 0]], [[1, 0], [1, 1]]]
    near = {name: {int(OFFSETS[column]): int(count) for column, count in enumerate(counts.near[row].sum(0)) if count}
            for row, name in enumerate(counts.names)}
    assert near == {"det": {1: 1}, "nsubj": {1: 2}, "obj": {-1: 2}}
    assert (counts.sentences, counts.unplaced) == (2, 0)


def test_a_relation_with_a_word_without_a_place_is_left_out_and_counted():
    lost = choices(0, [2, 3, 0, 3], ["det", "nsubj", "root", "obj"], EVEN.looked, [True, False, True, True])
    counts = counts_of(lost)
    assert counts.n.sum(1).tolist() == [0, 0, 1] and counts.unplaced == 2   # det and nsubj have the word on an end


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_merged_counts_are_those_of_all_sentences_in_any_order(order):
    parts = [EVEN, ODD, left_out(too_long=1), choices(5, [0, 1], ["root", "amod"], [[1, 0], [1, 0]])]
    whole, total = counts_of(join(parts)), counts_of(parts[order[0]])
    for place in order[1:]:
        total = merge(total, counts_of(parts[place]))
    assert (total.names, total.heads) == (whole.names, whole.heads)
    assert all((getattr(total, name) == getattr(whole, name)).all() for name in ("n", "right", "near", "possible"))
    assert [getattr(total, name) for name in ("sentences", "not_found", "too_long", "unplaced")] == [3, 0, 1, 0]


def test_heads_counted_in_blocks_are_those_counted_at_once(monkeypatch):
    both = join([EVEN, ODD])
    trees = forest(both, ("nsubj", "obj"))
    pairs = pairs_of(trees, both.tree, trees.relation, both.placed)
    whole = count_right(both.looked, pairs, 4)
    monkeypatch.setattr("model.studies.syntax.BLOCK", 1)
    assert (count_right(both.looked, pairs, 4) == whole).all() and whole.sum() == 7
