"""A bag-of-words baseline for the resolver: a linear model that predicts the noun of "it" from word counts."""
import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clearhead.model.scratch.grammar import WinogradSentence, sentences
from clearhead.model.scratch.tasks import resolver


def bag(chosen: Sequence[WinogradSentence]) -> Tensor:
    """Count every vocabulary word in every sentence, float32 (sentence, word)."""
    counts = torch.zeros(len(chosen), len(resolver.WORDS))
    for row, sentence in zip(counts, chosen, strict=True):
        ids = torch.tensor(resolver.encode(sentence)[0])
        row.index_add_(0, ids, torch.ones(len(ids)))
    return counts


def antecedents(chosen: Sequence[WinogradSentence]) -> Tensor:
    """Return the id of the noun that "it" refers to, int64 (sentence)."""
    return torch.tensor([resolver.TOKENIZER.number(sentence.nouns[sentence.answer].english) for sentence in chosen])


def train(steps: int = 2_000, size: int = 64, seed: int = 1) -> nn.Linear:
    """Fit a logistic regression on word counts with `steps` batches of `size` sentences."""
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


def accuracy(model: nn.Linear, chosen: Sequence[WinogradSentence]) -> float:
    """Return the share of sentences whose antecedent is predicted correctly."""
    with torch.inference_mode():
        return (model(bag(chosen)).argmax(-1) == antecedents(chosen)).float().mean().item()
