"""Choosing on the one half, judging on the other, and luck."""

import numpy as np
import pytest

from model.core.query import quiet
from model.studies.syntax import (
    Choice,
    Choices,
    accuracies,
    alone,
    choice,
    chosen,
    counts_of,
    exchanged,
    forest,
    held_out_interval,
    judged,
    luck,
    pairs_of,
)

SENTENCES, HEADS = 60, ((0, 0), (0, 1), (3, 0))


@pytest.fixture(scope="module")
def random_choices():
    """Sentences of three to five words, the first of which all others depend on; heads that look anywhere, of which the
    last looks at the first word in three of four cases."""
    rng = np.random.default_rng(4)
    lengths = rng.integers(3, 6, SENTENCES)
    trees, relations, looked = [], [], []
    for length in lengths:
        root = rng.integers(length)
        trees.append(np.where(np.arange(length) == root, -1, root))
        relations.append(np.where(np.arange(length) == root, "root", rng.choice(["a", "b"], length)))
        any_word = rng.integers(0, length, (3, length))
        any_word[2] = np.where(rng.random(length) < 0.75, root, any_word[2])
        looked.append(any_word)
    total = int(lengths.sum())
    return Choices(HEADS, np.arange(SENTENCES), lengths, np.concatenate(looked, 1).astype(np.int16),
                   rng.random(total) < 0.9, np.concatenate(trees).astype(np.int16), np.concatenate(relations),
                   np.ones((2, total), bool))


def test_the_best_of_one_half_is_judged_on_the_other_and_of_equals_the_first_is_best():
    right = np.array([[3, 3, 1], [0, 2, 4]])
    assert chosen(right) == (0, 2)
    assert judged(right, np.array([4, 4])) == (1 + 0) / 8
    assert judged(right, np.array([4, 0])) is None and judged(right, np.array([0, 4])) is None


def test_a_candidate_is_a_direction_and_a_head(random_choices):
    counts = counts_of(random_choices)
    assert choice(counts, 2) == Choice("dependent", 3, 0) and choice(counts, 3) == Choice("head", 0, 0)
    share = accuracies(counts, 0)
    assert share.shape == (2, 3) and share.argmax() == 2 and 0.6 < share.max() < 0.95


def test_the_interval_lies_about_what_was_judged(random_choices):
    counts = counts_of(random_choices)
    trees = forest(random_choices, counts.names)
    pairs = pairs_of(trees, random_choices.tree, trees.relation, random_choices.placed)
    for relation in (0, 1):
        right = counts.right[relation].reshape(2, -1)
        found = held_out_interval(random_choices, trees, pairs, relation, chosen(right))
        assert found.value == pytest.approx(judged(right, counts.n[relation]))
        assert found.low < found.value < found.high and found.texts == counts.n[relation].sum()


def test_trees_are_exchanged_among_sentences_of_equal_length_each_once():
    lengths, rng = np.array([3, 5, 3, 4, 3, 5, 9]), np.random.default_rng(0)
    seen = {tuple(exchanged(lengths, rng)) for _ in range(300)}
    assert len(seen) == 6 * 2   # all orders of three and of two
    for giver in seen:
        assert sorted(giver) == list(range(7)) and (lengths[list(giver)] == lengths).all()
    assert alone(lengths) == 2


def test_luck_leaves_a_sentence_alone_whose_length_no_other_has(random_choices):
    counts = counts_of(random_choices)
    single = Choices(HEADS, np.array([0]), np.array([3]), random_choices.looked[:, :3], np.ones(3, bool),
                     np.array([-1, 0, 0], np.int16), np.array(["root", "a", "b"]), np.ones((2, 3), bool))
    own = counts_of(single)
    found = luck(single, forest(single, own.names), 2, quiet)
    assert [each.mean for each in found] == [accuracies(own, row).max() for row in (0, 1)] and counts.names == own.names
