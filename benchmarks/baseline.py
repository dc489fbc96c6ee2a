"""A bag of words beside the resolver: which noun is "it", from the words alone, without their order. Linear, one weight
a word and noun."""
import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from model.scratch.grammar import Sentence, sentences
from model.scratch.tasks import resolver


def bag(chosen: Sequence[Sentence]) -> Tensor:
    """Return how often each word of the vocabulary stands in each sentence, float32 (sentence, word)."""
    counts = torch.zeros(len(chosen), len(resolver.WORDS))
    for row, sentence in zip(counts, chosen, strict=True):
        ids = torch.tensor(resolver.encode(sentence)[0])
        row.index_add_(0, ids, torch.ones(len(ids)))
    return counts


def antecedents(chosen: Sequence[Sentence]) -> Tensor:
    """Return the id of the noun that "it" is, int64 (sentence)."""
    return torch.tensor([resolver.TOKENIZER.number(sentence.antecedent.english) for sentence in chosen])


def train(steps: int = 2_000, size: int = 64, seed: int = 1) -> nn.Linear:
    """Logistic regression over the vocabulary, on as many sentences as steps · size."""
    source = sentences(random.Random(f"bag {seed}"))
    model = nn.Linear(len(resolver.WORDS), len(resolver.WORDS))
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        chosen = [next(source) for _ in range(size)]
        loss = nn.functional.cross_entropy(model(bag(chosen)), antecedents(chosen))
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model


def accuracy(model: nn.Linear, chosen: Sequence[Sentence]) -> float:
    """Return share of sentences whose antecedent gets the largest of all scores."""
    with torch.inference_mode():
        return (model(bag(chosen)).argmax(-1) == antecedents(chosen)).float().mean().item()
