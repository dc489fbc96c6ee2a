"""Train a Vision Transformer to name the digit above the dot, on the canvases of model/scratch/canvas.py. The model
gets no other information about the meaning of the dot."""
import random

import numpy as np
import torch

from clearhead.model.scratch import canvas
from clearhead.model.scratch.canvas import CLASSES, COLUMNS, ROWS, SIDE, Canvas, ink
from clearhead.model.scratch.task import Batch, Task, correct_rows
from clearhead.model.scratch.transformer import Config, Transformer

WORDS = tuple(map(str, range(CLASSES)))   # names of the classes


def batch(canvases: list[Canvas]) -> Batch:
    """Return a batch of these canvases, with the marked digit as target at [CLS]."""
    return Batch((ink(np.stack([each.pixels() for each in canvases])),),
                 torch.tensor([[each.answer] for each in canvases]))


def draw(rng: random.Random, size: int) -> Batch:
    """Draw a training batch."""
    return batch([canvas.draw(rng) for _ in range(size)])


def test_canvases(split: str, size: int = 2_000) -> list[Canvas]:
    """Return `size` / 2 pairs of twins with held-out digits and positions; always the same ones."""
    rng = random.Random(f"marked digit {split}")
    return [each for _ in range(size // 2) for each in canvas.twins(rng, split)]


def right(model: Transformer, canvases: list[Canvas]) -> np.ndarray:
    """Return which canvases the model classifies correctly, bool (canvas)."""
    return correct_rows(model, batch(canvases)).numpy()


def both(outcomes: np.ndarray) -> float:
    """Return the share of pairs whose twins are both classified correctly; outcomes: bool (canvas)."""
    return float(outcomes.reshape(-1, 2).all(1).mean())


def score(model: Transformer) -> dict[str, float]:
    """Return the share of canvases classified correctly and the share of pairs with both twins correct, by split."""
    figures: dict[str, float] = {}
    for split in ("validation", "test"):
        outcomes = right(model, test_canvases(split))
        figures |= {split: float(outcomes.mean()), f"twins_{split}": both(outcomes)}
    return figures


CONFIG = Config(vocabulary=CLASSES, d_model=64, heads=1, d_ff=256, encoder_layers=2, decoder_layers=0,
                positions="learned", max_length=1 + ROWS * COLUMNS, dropout=0.1, norm_first=True, final_norm=True,
                tie=False, activation="gelu", patch=SIDE)
TASKS = (Task("marked-digit", "marked digit: an encoder of pictures, 2 layers × 1 head", CONFIG, WORDS, draw, score,
              steps=6_000, batch=32),)
