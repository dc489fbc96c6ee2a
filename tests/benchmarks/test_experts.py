"""The grammar that the experts learn, and that a training of theirs learns."""
import random

import torch

from benchmarks.experts import DIGITS, LONGEST, batch, first_weights, measured, sentence, train
from model.lessons.since import WORDS, encode


def test_sentences_fit_and_sums_are_right():
    rng = random.Random(4)
    drawn = [sentence(rng) for _ in range(300)]
    assert max(map(len, drawn)) <= LONGEST and all(encode(each) for each in drawn) and len(set(WORDS)) == len(WORDS)
    sums = [each for each in drawn if "plus" in each]
    assert sums and all(DIGITS.index(a) + DIGITS.index(b) + 2 == DIGITS.index(c) + 1 for _, a, _, b, _, c, _ in sums)
    ids, there = batch("x", 5)
    assert all(len(row) == len(mask) == LONGEST for row, mask in zip(ids, there, strict=True))


def test_a_short_training_learns_and_the_same_seed_gives_the_same():
    one, other = (train(0.01, seed=3, steps=6) for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert measured(one)[1] < measured(first_weights(3))[1]
