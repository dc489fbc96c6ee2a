"""Treat pictures as sequences of patches: train small networks on digits, and reorder the patches of a picture."""
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.memory import count_parameters
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen, quiet, with_arrays
from clearhead.model.core.torch_runs import one_thread, seeded
from clearhead.model.scratch.canvas import CLASSES, SIDE, SPLITS, Canvas, digits, ink
from clearhead.model.scratch.source import network_of

if TYPE_CHECKING:
    from torch import Tensor, nn


KINDS = ("convolution", "transformer", "unplaced")   # "unplaced" is the Transformer without positions
COUNTS = (100, 300, 1_000)                           # numbers of training digits
STEPS, SIZE, EVERY = 300, 32, 10                     # training steps; digits per step; steps between two tests
RATE, WARM_UP = 3e-3, 30                             # peak learning rate; warm-up steps
PATCH, WIDTH, HEADS, LAYERS = 2, 32, 4, 2  # the Transformer's patch side in pixels; d_model; heads per layer; layers
CHANNELS = (16, 32, 32)                              # channels of the convolutional network, with 3 × 3 kernels
SEEDS = 5
TESTED = SPLITS["test"]                              # held-out digits


@frozen
class DigitRunQuery:
    """How does one network learn to classify digits?"""

    kind: str = "transformer"   # one of KINDS
    count: int = 100            # number of training digits, one of COUNTS
    seed: int = 1               # seed of the initial weights, choice of digits and their order

    def answer(self, models: Models, report: Progress) -> "DigitRun":
        """Run the training and return its curves."""
        return run(self, report)


@with_arrays
class DigitRun:
    """The curves of a training run, float64 (step) or (test)."""

    loss: np.ndarray      # nats (step)
    tested: np.ndarray    # number of steps before each test (test)
    right: np.ndarray     # accuracy on held-out digits (test)
    learned: float        # final accuracy on the training digits
    parameters: int       # number of parameters


def network(kind: str, seed: int) -> "nn.Module":
    """Return an untrained network of this kind, from ink (b, 8, 8) to logits (b, 10)."""
    from torch import nn

    from clearhead.model.scratch.transformer import Config, Transformer

    with seeded(seed):
        if kind != "convolution":
            return nn.Sequential(Transformer(Config(
                vocabulary=CLASSES, d_model=WIDTH, heads=HEADS, d_ff=2 * WIDTH, encoder_layers=LAYERS, decoder_layers=0,
                positions="learned" if kind == "transformer" else "none", max_length=1 + (SIDE // PATCH) ** 2,
                dropout=0.0, norm_first=True, final_norm=True, tie=False, activation="gelu", patch=PATCH)),
                nn.Flatten())
        first, second, third = CHANNELS
        return nn.Sequential(nn.Unflatten(1, (1, SIDE)), nn.Conv2d(1, first, 3, padding=1), nn.ReLU(),
                             nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(second, third, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(third * (SIDE // 4) ** 2, CLASSES))


@cache
def lessons(count: int, seed: int) -> "tuple[Tensor, Tensor]":
    """Return the training digits: ink (digit, 8, 8) and labels (digit)."""
    import torch

    known = digits()
    chosen = np.random.default_rng(seed).permutation(len(known.labels))[:count]
    return torch.from_numpy(known.ink[chosen]), torch.from_numpy(known.labels[chosen])


def run(question: DigitRunQuery, report: Progress = quiet) -> DigitRun:
    """Train for one to three seconds on one core. Calls `report` after every step, which may raise an exception to
    stop."""
    import torch

    from clearhead.model.scratch.train import learning_rate, update

    with one_thread(), torch.enable_grad():
        model = network(question.kind, question.seed)
        ink, labels = lessons(question.count, question.seed)
        held_out = digits("test")
        unseen = torch.tensor(held_out.ink), torch.tensor(held_out.labels)
        adam = torch.optim.Adam(model.parameters())
        order = torch.Generator().manual_seed(question.seed)
        losses, tested, right = [], [0], [share_right(model, *unseen)]
        for step in range(STEPS):
            chosen = torch.randint(len(ink), (SIZE,), generator=order)
            loss = torch.nn.functional.cross_entropy(model(ink[chosen]), labels[chosen])
            update(adam, loss, learning_rate(RATE, WARM_UP, step, STEPS))
            losses.append(loss.item())
            if (step + 1) % EVERY == 0:
                tested.append(step + 1)
                right.append(share_right(model, *unseen))
            report((step + 1) / STEPS, f"step {step + 1} of {STEPS}: {right[-1]:.0%} of the held-out digits are right")
        return DigitRun(np.array(losses), np.array(tested, np.float64), np.array(right),
                        share_right(model, ink, labels),
                        count_parameters(model))


def share_right(model: "nn.Module", ink: "Tensor", labels: "Tensor") -> float:
    """Return the share of digits that the model classifies correctly."""
    import torch

    with torch.no_grad():
        return float((model(ink).argmax(-1) == labels).float().mean())


MODEL = "marked-digit"
ROWS, COLUMNS = Canvas.grid   # patches per picture
PICTURES = 8                  # held-out canvases to choose from


@cache
def canvases() -> tuple[Canvas, ...]:
    """Return the first held-out canvases, with twins next to each other."""
    from clearhead.model.scratch.tasks.marked_digit import test_canvases

    return tuple(test_canvases("test", PICTURES))


def swapped(patches: int, moved: int, seed: int) -> np.ndarray:
    """Return an order in which `moved` patches are cyclically permuted, as the source of each position's patch, int
    (patch). A single patch cannot move."""
    order, chosen = np.arange(patches), np.random.default_rng(seed).permutation(patches)[:moved]
    order[chosen] = np.roll(chosen, 1)
    return order


def cut(pixels: np.ndarray, side: int) -> np.ndarray:
    """Split a picture (row, column) into square patches, row by row: (patch, side, side)."""
    rows, columns = (length // side for length in pixels.shape)
    return pixels.reshape(rows, side, columns, side).swapaxes(1, 2).reshape(rows * columns, side, side)


def laid(patches: np.ndarray, columns: int) -> np.ndarray:
    """Assemble patches (patch, side, side) into a picture, (row, column)."""
    count, side, _ = patches.shape
    return patches.reshape(count // columns, columns, side, side).swapaxes(1, 2).reshape(-1, columns * side)


def read(pixels: np.ndarray, placed: bool) -> np.ndarray:
    """Return the logits at [CLS], float32 (digit), for a picture, uint8 (row, column), from 0 (black) to 255 (white).
    placed: whether to add the learned positions; the weights are the same in both cases."""
    import torch

    model = network_of(MODEL)
    with torch.inference_mode():
        tokens = model.embedding.tokens(ink(pixels)[None])
        return model.output(model.encoder(model.embedding.positions(tokens) if placed else tokens))[0, 0].numpy()


def place_vectors() -> np.ndarray:
    """Return the learned position vectors without that of [CLS], float64 (position, d_model)."""
    return network_of(MODEL).embedding.positions.table.detach().double().numpy()[1:]


def numbers(height: int, width: int, side: int) -> dict[str, int]:
    """Return the numbers that depend on the patch size: tokens (including [CLS]), pixels per patch, weights in a head's
    matrix, and parameters of the linear map and of the position table. side: in pixels."""
    patches, d_model = (height // side) * (width // side), network_of(MODEL).config.d_model
    return {"tokens": patches + 1, "pixels": side**2, "weights": (patches + 1) ** 2,
            "map": side**2 * d_model + d_model, "places": (patches + 1) * d_model}


def blocks() -> int:
    """Count the parameters in the model's blocks, which do not depend on the patch size."""
    return count_parameters(network_of(MODEL).encoder)
