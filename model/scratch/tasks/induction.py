"""What came after this sign last time? A decoder learns to continue a repeat in random signs (Olsson et al. 2022).

A text is random signs, all different, and somewhere a piece of it comes again. Only the repeat can be foretold, and
only by looking back. """
import random
import string

import torch

from model.scratch.task import NO_TARGET, Batch, Task, correct_rows, loss, pad_rows
from model.scratch.tokens import BEGIN, SPECIALS
from model.scratch.transformer import Config, Transformer

SIGNS = string.ascii_lowercase + string.ascii_uppercase + string.digits
WORDS = (*SPECIALS, *SIGNS)
UNSEEN = (7, 11, 16)       # lengths of a repeat that are only tested
LONGER = (21, 22, 23, 24)  # and longer ones than any trained
LENGTHS = tuple(length for length in range(3, 21) if length not in UNSEEN)


def text(rng: random.Random, length: int) -> tuple[list[int], int]:
    """Ids of one text: signs, a piece of `length`, signs, the piece again, signs; and where the repeat begins. All
    random signs differ."""
    ids = rng.sample(range(len(SPECIALS), len(WORDS)), len(SIGNS))
    before, gap, after = rng.randint(0, 12), rng.randint(0, 12), rng.randint(0, 3)
    begin = before + length
    again = begin + gap
    return [BEGIN, *ids[:again], *ids[before:begin], *ids[again:again + after]], 1 + again


def batch(rng: random.Random, size: int, lengths: tuple[int, ...]) -> Batch:
    """Texts, and the next sign as target inside the repeat, where it can be foretold; anywhere else the loss would be
    noise."""
    inputs, targets = [], []
    for _ in range(size):
        length = rng.choice(lengths)
        ids, begin = text(rng, length)
        inputs.append(ids)
        targets.append([ids[i + 1] if begin <= i < begin + length - 1 else NO_TARGET for i in range(len(ids))])
    return Batch((pad_rows(inputs),), pad_rows(targets, NO_TARGET))


def draw(rng: random.Random, size: int) -> Batch:
    """Return a training batch."""
    return batch(rng, size, LENGTHS)


def score(model: Transformer) -> dict[str, float]:
    """Loss on the repeated part in nats, and share of repeats foretold without a fault, for lengths never trained."""
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
