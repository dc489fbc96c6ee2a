"""Train a decoder to continue a repeated stretch in random characters (induction, Olsson et al. 2022).

A text consists of different random characters and repeats one stretch of them. Only the repeat is predictable, and only
by attending to the character that followed last time.
"""
import random
import string

import torch

from clearhead.model.scratch.task import NO_TARGET, Batch, Task, correct_rows, loss, pad_rows
from clearhead.model.scratch.tokens import BEGIN, SPECIALS
from clearhead.model.scratch.transformer import Config, Transformer

SIGNS = string.ascii_lowercase + string.ascii_uppercase + string.digits
WORDS = (*SPECIALS, *SIGNS)
UNSEEN = (7, 11, 16)       # lengths of repeats used only in testing
LONGER = (21, 22, 23, 24)  # lengths beyond the longest in training
LENGTHS = tuple(length for length in range(3, 21) if length not in UNSEEN)


def text(rng: random.Random, length: int) -> tuple[list[int], int]:
    """Return the ids of one text and the position at which the repeat begins. The text has different random characters,
    a stretch of `length`, more characters, the stretch again and final characters."""
    ids = rng.sample(range(len(SPECIALS), len(WORDS)), len(SIGNS))
    before, gap, after = rng.randint(0, 12), rng.randint(0, 12), rng.randint(0, 3)
    begin = before + length
    again = begin + gap
    return [BEGIN, *ids[:again], *ids[before:begin], *ids[again:again + after]], 1 + again


def batch(rng: random.Random, size: int, lengths: tuple[int, ...]) -> Batch:
    """Draw texts with the next character as target, only inside the repeat: elsewhere, the loss would be noise."""
    inputs, targets = [], []
    for _ in range(size):
        length = rng.choice(lengths)
        ids, begin = text(rng, length)
        inputs.append(ids)
        targets.append([ids[i + 1] if begin <= i < begin + length - 1 else NO_TARGET for i in range(len(ids))])
    return Batch((pad_rows(inputs),), pad_rows(targets, NO_TARGET))


def draw(rng: random.Random, size: int) -> Batch:
    """Draw a training batch."""
    return batch(rng, size, LENGTHS)


def score(model: Transformer) -> dict[str, float]:
    """Return the loss on repeats, in nats, and the share of repeats predicted without error, for lengths not used in
    training."""
    figures = {}
    for name, lengths in (("unseen", UNSEEN), ("longer", LONGER)):
        test = batch(random.Random(f"induction {name}"), 500, lengths)
        with torch.inference_mode():
            figures[f"loss_{name}"] = loss(model, test).item()
        figures[f"right_{name}"] = correct_rows(model, test).float().mean().item()
    return figures


CONFIG = Config(vocabulary=len(WORDS), d_model=64, heads=2, d_ff=64, encoder_layers=0, decoder_layers=2, dropout=0.0,
                positions="rotary")
TASKS = (Task("induction", "induction: a decoder of 2 layers × 2 heads", CONFIG, WORDS, draw, score, steps=1_500,
              batch=32),)
