"""The whole test compared with words counted in transformers' own attention, where each word is one token."""
import io
import random

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from clearhead.model.core.query import quiet
from clearhead.model.pretrained import load
from clearhead.model.studies.syntax import OFFSETS, SyntaxQuery, read_treebank
from tests.model import tiny
from tests.model.only import Only

RELATIONS = ("nsubj", "obj", "det")


def random_trees(count: int = 40) -> list[tuple[list[str], list[int], list[str]]]:
    """Draw (words, heads counted from 1, relations) of sentences of four to six words."""
    rng, found = random.Random(5), []
    for _ in range(count):
        length = rng.randint(4, 6)
        root = rng.randint(1, length)   # each word depends on one nearer to the root, so that there is no cycle
        heads = [0 if place == root else rng.choice([other for other in range(1, length + 1)
                                                     if abs(other - root) < abs(place - root)])
                 for place in range(1, length + 1)]
        words = [rng.choice(tiny.SENTENCE.replace("'", "").replace(".", "").split()) for _ in heads]
        found.append((words, heads, [rng.choice(RELATIONS) if head else "root" for head in heads]))
    return found


TREES = random_trees()
FILE = "".join(f"# text = {' '.join(words)}\n" + "".join(
    f"{place}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"
    for place, (word, head, relation) in enumerate(zip(words, heads, relations), 1)) + "\n"
    for words, heads, relations in TREES)


def counted(folder, causal: bool) -> dict[str, list]:
    """{relation: [(half, right by way and head, right by offset, allowed both ways) of each pair of words]}"""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    found: dict[str, list] = {name: [] for name in RELATIONS}
    for number, (words, heads, relations) in enumerate(TREES):
        with torch.no_grad():
            read = network(**tokenizer(" ".join(words), return_tensors="pt"), output_attentions=True).attentions
        weights = torch.cat(read).flatten(0, 1)[:, 1:-1, 1:-1].numpy().copy()   # without [CLS] and [SEP]
        may = np.tri(len(words), k=-1, dtype=bool) if causal else ~np.eye(len(words), dtype=bool)
        looked = np.where(may, weights, -1).argmax(-1)
        for word, (head, relation) in enumerate(zip(heads, relations)):
            if head:
                above = head - 1
                right = np.concatenate([may[word, above] & (looked[:, word] == above),
                                        may[above, word] & (looked[:, above] == word)])
                found[relation].append((number % 2, right, above - word == OFFSETS, (may[word, above],
                                                                                    may[above, word])))
    return found


def held_out(right: np.ndarray, half: np.ndarray) -> tuple[list[int], float]:
    """The best column of each half, and the share of pairs that the other half's best column gets right."""
    best = [int(right[half == part].sum(0).argmax()) for part in (0, 1)]
    return best, float(np.mean([row[best[1 - part]] for row, part in zip(right, half, strict=True)]))


@pytest.fixture(scope="module", params=["bert", "llama"])
def both(request, tmp_path_factory):
    """(our report, what is counted)"""
    folder = tiny.save(tmp_path_factory.mktemp(request.param), request.param)
    opened = load.locate(str(folder)).open(quiet)
    question = SyntaxQuery(str(folder), opened.card.revision, read_treebank(io.BytesIO(FILE.encode()), "x.conllu"))
    return question.answer(Only(opened), quiet), counted(folder, request.param == "llama")


def test_every_number_equals_the_count(both):
    ours, theirs = both
    heads = len(ours.counts.heads)
    assert ours.counts.sentences == len(TREES) and {score.name for score in ours.relations} == set(RELATIONS)
    for score in ours.relations:
        half, right, offset, may = (np.array(part) for part in zip(*theirs[score.name], strict=True))
        chosen, share = held_out(right, half)
        assert score.n == len(half) and score.accuracy == pytest.approx(right.mean(0).max())
        assert score.held_out.value == pytest.approx(share) and score.offset == pytest.approx(held_out(offset, half)[1])
        assert score.possible == pytest.approx(tuple(may.mean(0)))
        assert [(each.direction == "head") * heads + ours.counts.heads.index((each.layer, each.head))
                for each in (*score.chosen, score.best)] == [*chosen, right.mean(0).argmax()]
        assert score.held_out.low < share < score.held_out.high


def test_tables(both):
    ours = both[0]
    frame, heads = ours.frame(), ours.heads("obj")
    assert frame.index.tolist() == [score.name for score in ours.relations] and frame["n"].is_monotonic_decreasing
    assert np.allclose(frame["held_out"], [score.held_out.value for score in ours.relations])
    assert heads.shape == (len(ours.counts.heads), 2) and heads.max().max() == ours.named("obj").accuracy


def test_relation_in_one_half_has_no_held_out_accuracy(tmp_path):
    llama = load.locate(str(tiny.save(tmp_path, "llama"))).open(quiet)
    odd = "# text = the cat\n1\tthe\t_\t_\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    question = SyntaxQuery("m", "r", read_treebank(io.BytesIO(odd.encode()), "x.conllu"))
    score = question.answer(Only(llama), quiet).named("det")
    assert (score.held_out, score.offset, score.chosen, score.n, score.accuracy) == (None, None, (), 1, 1.0)
