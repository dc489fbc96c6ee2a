"""The decoder with experts against a second way to compute it, token by token; what was trained against what is said
of it."""
import math
import random

import numpy as np
import pytest
import torch

from model.lessons import since
from model.lessons.since import DIGITS, LONGEST, WORDS, batch, encode, sentence


def by_hand(weights: since.Weights, ids: list[int]) -> tuple[np.ndarray, list[int]]:
    """(ln P of the next word, the expert of each token): loops over tokens and heads; only the chosen expert is
    computed."""
    w = {name: each.double().numpy() for name, each in weights.items()}

    def norm(row):
        return row / math.sqrt((row @ row) / len(row) + 1e-6)

    x = [w["words"][word] + w["places"][place] for place, word in enumerate(ids)]
    read, size = [norm(row) for row in x], since.EXPERT_WIDTH // since.EXPERT_HEADS
    chosen, outputs = [], []
    for place, row in enumerate(x):
        heads = []
        for head in range(since.EXPERT_HEADS):
            part = slice(head * size, (head + 1) * size)
            query, keys, values = ((read[place] @ w["attention"][0])[part],
                                   [(each @ w["attention"][1])[part] for each in read[:place + 1]],
                                   [(each @ w["attention"][2])[part] for each in read[:place + 1]])
            shares = np.exp([query @ key / math.sqrt(size) for key in keys])
            heads.append(shares / shares.sum() @ np.array(values))
        row = row + np.concatenate(heads) @ w["attention"][3]
        gates = np.exp(norm(row) @ w["router"])
        chosen.append(int(gates.argmax()))
        inner = np.maximum(0, norm(row) @ w["up"][chosen[-1]])
        outputs.append(norm(row + gates.max() / gates.sum() * inner @ w["down"][chosen[-1]]) @ w["output"])
    return outputs[-1] - np.log(np.exp(outputs[-1]).sum()), chosen


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("text", ["<start> the old king", "<start> two plus five is", "<start> le chat dort"])
def test_the_decoder_and_its_router_are_what_a_loop_finds(text, balanced):
    logs, chosen = by_hand(since.shipped()[balanced], encode(text.split()))
    assert since.next_words(tuple(encode(text.split())), balanced) == pytest.approx(logs, abs=1e-4)
    assert since.route(text.split(), balanced).argmax(-1).tolist() == chosen


def test_the_balancing_loss_is_one_where_all_get_the_same_and_the_number_of_experts_where_one_gets_all():
    even = torch.eye(4)[None] * 0.97 + 0.0075
    there = torch.ones(1, 4, dtype=torch.bool)
    assert float(since.balancing(even, there)) == pytest.approx(1)
    assert float(since.balancing(torch.eye(4)[[0, 0, 0, 0]][None], there)) == pytest.approx(4)


def test_shares_are_counted_and_those_of_the_shipped_weights_are_those_that_were_written_down():
    for balanced, name in ((True, "balanced"), (False, "free")):
        found = since.load(balanced)
        assert found.shares.sum() == pytest.approx(1) and found.by_word.sum() > 2000
        # float16 keeps the choice of nearly every token
        assert found.shares.max() == pytest.approx(since.busiest_by_seed()[name][0], abs=0.01)
    assert since.load(True).shares.max() < since.load(False).shares.max()


def test_a_short_training_learns_and_the_same_seed_gives_the_same():
    one, other = (since.train(0.01, seed=3, steps=6) for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert since.measured(one).nats < since.measured(since.first_weights(3)).nats


def test_sentences_are_right_and_fit():
    rng = random.Random(4)
    drawn = [sentence(rng) for _ in range(300)]
    assert max(map(len, drawn)) <= LONGEST and all(encode(each) for each in drawn)
    sums = [each for each in drawn if "plus" in each]
    assert sums and all(DIGITS.index(a) + DIGITS.index(b) + 2 == DIGITS.index(c) + 1 for _, a, _, b, _, c, _ in sums)
    ids, there = batch("x", 5)
    assert all(len(row) == len(mask) == LONGEST for row, mask in zip(ids, there, strict=True))
    assert len(set(WORDS)) == len(WORDS)
