"""Each strategy against transformers' own on a tiny model, and the tree against multiplying by hand."""
from itertools import product

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, TopKLogitsWarper, TopPLogitsWarper

from model.lessons import since
from model.lessons.since import encode

PROMPT, STEPS = (3, 1), 4
DRAWN = np.random.default_rng(5).dirichlet(np.ones(12) * 0.4, size=20)


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(2)
    return GPT2LMHeadModel(GPT2Config(vocab_size=9, n_positions=16, n_embd=16, n_layer=1, n_head=2,
                                      initializer_range=0.6, bos_token_id=None, eos_token_id=None,
                                      pad_token_id=0)).eval()


@pytest.fixture(scope="module")
def next_words(tiny):
    def asked(prefix):
        with torch.no_grad():
            return tiny(torch.tensor([prefix])).logits[0, -1].double().log_softmax(-1).numpy()
    return asked


def generated(tiny, **how) -> tuple[int, ...]:
    with torch.no_grad():
        found = tiny.generate(torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT)), do_sample=False,
                              min_new_tokens=STEPS, max_new_tokens=STEPS, **how)
    return tuple(found[0, len(PROMPT):].tolist())


def test_greedy_is_transformers(tiny, next_words):
    assert since.greedy(next_words, PROMPT, STEPS) == generated(tiny)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_a_beam_is_transformers(tiny, next_words, width):
    found = since.beam(next_words, PROMPT, STEPS, width)[-1]
    assert found[0][0] == generated(tiny, num_beams=width, length_penalty=0.0) and len(found) == width


def test_the_best_path_is_the_best_of_all(next_words):
    wanted = max(product(range(9), repeat=3), key=lambda path: sum(
        next_words(PROMPT + path[:place])[word] for place, word in enumerate(path)))
    found, share = since.best(next_words, PROMPT, 3)
    assert found == wanted and 0 < share < 1


@pytest.mark.parametrize("k", [1, 3, 12])
def test_top_k_is_transformers(k):
    wanted = TopKLogitsWarper(k)(None, torch.tensor(DRAWN).log()).softmax(-1).numpy()
    assert np.array([since.top_k(row, k) for row in DRAWN]) == pytest.approx(wanted)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 1.0])
def test_top_p_is_transformers(p):
    wanted = TopPLogitsWarper(p)(None, torch.tensor(DRAWN).log()).softmax(-1).numpy() if p < 1 else DRAWN
    assert np.array([since.top_p(row, p) for row in DRAWN]) == pytest.approx(wanted)


@pytest.mark.parametrize(("strategy", "amount"), [("greedy", 1), ("beam", 1), ("beam", 3), ("top_k", 2),
                                                  ("top_p", 0.6)])
def test_the_trees_numbers_are_products_along_the_way_and_what_is_kept_is_what_is_written(strategy, amount):
    prompt = tuple(encode(["<start>", "the"]))
    nodes = {node.path: node for node in since.tree(since.next_words, prompt, 3, strategy, amount, 5)}
    for path, node in nodes.items():
        steps = [np.exp(since.next_words(prompt + path[:place])) for place in range(len(path))]
        assert node.whole == pytest.approx(np.prod([row[word] for row, word in zip(steps, path, strict=True)]))
        if strategy.startswith("top"):
            rule = since.top_k if strategy == "top_k" else since.top_p
            kept = np.prod([rule(row, amount)[word] for row, word in zip(steps, path, strict=True)])
            assert node.kept == pytest.approx(kept)
    written = {path for path, node in nodes.items() if node.kept and len(path) == 3}
    if strategy == "greedy":
        assert written == {since.greedy(since.next_words, prompt, 3)}
    if strategy == "beam":
        assert written == {path for path, _ in since.beam(since.next_words, prompt, 3, amount)[-1]}


def test_a_strategy_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="expected a strategy"):
        since.tree(since.next_words, (0,), 1, "best", 1)
