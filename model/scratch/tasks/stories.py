"""Train a decoder to predict very short stories word by word (model/scratch/story_grammar.py). Some words are certain
and others are not."""
import math
import random

import numpy as np
import torch

from clearhead.model.core.query import frozen
from clearhead.model.core.statistics import entropy
from clearhead.model.scratch import story_grammar
from clearhead.model.scratch.task import NO_TARGET, Batch, Task, pad_rows
from clearhead.model.scratch.tokens import BEGIN, END, SPECIALS, WordTokenizer
from clearhead.model.scratch.transformer import Config, Transformer

WORDS = (*SPECIALS, *story_grammar.vocabulary())
TOKENIZER = WordTokenizer(WORDS)
NUMBERS = {word: i for i, word in enumerate(WORDS)}
CERTAIN = 1 - 1e-9


def batch(texts: list[tuple[str, ...]]) -> Batch:
    """Return a batch of stories as ids after [BOS]. Targets are the next words and, at the end, [EOS]."""
    rows = [[TOKENIZER.number(word) for word in words] for words in texts]
    return Batch((pad_rows([[BEGIN, *row] for row in rows]),), pad_rows([[*row, END] for row in rows], NO_TARGET))


def draw(rng: random.Random, size: int) -> Batch:
    """Draw a training batch."""
    return batch([story_grammar.draw(rng).words for _ in range(size)])


@frozen
class GrammarFit:
    """A comparison of a model with the grammar at every position of some stories, except that of the second animal,
    which depends on the split."""

    determined: np.ndarray   # bool (position), where only one word is possible: whether the model ranks it first
    # (position), 0 to 1: total variation distance between the model's and the grammar's probabilities
    distance: np.ndarray
    loss: float              # the model's loss in nats per word
    entropy: float           # the grammar's entropy in nats per word, the lowest possible loss
    words: tuple[str, ...]   # the words at the determined positions


def judge(model: Transformer, texts: list[tuple[str, ...]]) -> GrammarFit:
    """Compare the model's probabilities with the grammar's."""
    asked = batch(texts)
    with torch.inference_mode():
        chances = model(*asked.inputs).double().softmax(-1).numpy()
    determined, said, rows = [], [], []
    for row, words in enumerate(texts):
        for place in range(len(words) + 1):
            truth = story_grammar.following(words[:place])
            right = words[place] if place < len(words) else story_grammar.END
            if right not in truth:
                continue
            true = np.zeros(len(WORDS))
            true[[NUMBERS[word] for word in truth]] = list(truth.values())
            own = chances[row, place]
            rows.append((np.abs(own - true).sum() / 2, -np.log(own[NUMBERS[right]]), entropy(true, base=math.e)))
            if max(truth.values()) > CERTAIN:
                determined.append(WORDS[own.argmax()] == right)
                said.append(right)
    distances, losses, entropies = np.array(rows).T
    return GrammarFit(np.array(determined), distances, float(losses.mean()), float(entropies.mean()), tuple(said))


def test_stories(split: str, size: int = 500) -> list[tuple[str, ...]]:
    """Return the test stories; always the same ones."""
    rng = random.Random(f"stories {split}")
    return [story_grammar.draw(rng, split).words for _ in range(size)]


def score(model: Transformer) -> dict[str, float]:
    """Return scores on stories with pairs of animals that do not occur in training: the share of determined words
    predicted correctly, the mean total variation distance to the grammar, and loss and entropy in nats per word."""
    figures: dict[str, float] = {}
    for split in ("validation", "test"):
        judged = judge(model, test_stories(split))
        figures |= {f"right_{split}": float(judged.determined.mean()),
                    f"distance_{split}": float(judged.distance.mean()), f"loss_{split}": judged.loss,
                    f"entropy_{split}": judged.entropy}
    return figures


CONFIG = Config(vocabulary=len(WORDS), d_model=64, heads=4, d_ff=256, encoder_layers=0, decoder_layers=4, dropout=0.0,
                norm_first=True, final_norm=True, activation="gelu")
TASKS = (Task("stories", "stories: a decoder of 4 layers × 4 heads", CONFIG, WORDS, draw, score, steps=4_000),)
