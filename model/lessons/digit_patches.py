"""Treat pictures as sentences of patches: digits that small networks read, and patches in order."""
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from model.core.limits import seeded
from model.core.models import Models
from model.core.query import Progress, quiet

if TYPE_CHECKING:
    from torch import Tensor, nn

    from model.scratch.canvas import Canvas
    from model.scratch.transformer import Transformer


KINDS = ("convolution", "transformer", "unplaced")   # the last: the Transformer without positions
COUNTS = (100, 300, 1_000)                           # digits to learn from
STEPS, SIZE, EVERY = 300, 32, 10                     # steps; digits a step; steps between two tests
RATE, WARM_UP = 3e-3, 30                             # the learning rate at its peak; steps until it is reached
PATCH, WIDTH, HEADS, LAYERS = 2, 32, 4, 2            # of the Transformer: pixels; d_model; a layer; blocks
CHANNELS = (16, 32, 32)                              # of the convolution, of 3 × 3 pixels each
SEEDS = 5


@dataclass(frozen=True)
class DigitRunQuery:
    """One network's training."""

    kind: str = "transformer"   # one of KINDS
    count: int = 100            # digits to learn from, one of COUNTS
    seed: int = 1               # of the first weights, of which digits, and of their order

    def answer(self, models: Models, report: Progress) -> "DigitRun":
        """Return the curves of the training."""
        return run(self, report)


@dataclass(frozen=True, eq=False)
class DigitRun:
    """The curves of a training, float64 arrays over its steps or its tests."""

    loss: np.ndarray      # nats (step)
    tested: np.ndarray    # the steps before which the held-out digits were read (test)
    right: np.ndarray     # share of the held-out digits that is read right (test)
    learned: float        # share of the digits it learned from that is read right in the end
    parameters: int       # numbers that are learned


def network(kind: str, seed: int) -> "nn.Module":
    """Return an untrained network of this kind: ink (b, 8, 8) in, logits (b, 10) out."""
    from torch import nn

    from model.scratch.canvas import CLASSES, SIDE
    from model.scratch.transformer import Config, Transformer

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
    """Return the digits to learn from: ink (digit, 8, 8) and what they are (digit)."""
    import torch

    from model.scratch.canvas import digits

    known = digits()
    chosen = np.random.default_rng(seed).permutation(len(known.labels))[:count]
    return torch.from_numpy(known.ink[chosen]), torch.from_numpy(known.labels[chosen])


def rate(step: int) -> float:
    """Return the learning rate of a step: a linear warm-up, then a linear fall to 0."""
    return RATE * min((step + 1) / WARM_UP, (STEPS - step) / (STEPS - WARM_UP))


def run(question: DigitRunQuery, report: Progress = quiet) -> DigitRun:
    """Trains, one to three seconds on one core; report is called after every step and stops it by raising."""
    import torch

    from model.core.limits import one_thread
    from model.scratch.canvas import digits

    with one_thread(), torch.enable_grad():
        model = network(question.kind, question.seed)
        ink, labels = lessons(question.count, question.seed)
        held_out = digits("test")
        unseen = torch.tensor(held_out.ink), torch.tensor(held_out.labels)
        adam = torch.optim.Adam(model.parameters())
        order = torch.Generator().manual_seed(question.seed)
        losses, tested, right = [], [0], [share_right(model, *unseen)]
        for step in range(STEPS):
            adam.param_groups[0]["lr"] = rate(step)
            chosen = torch.randint(len(ink), (SIZE,), generator=order)
            loss = torch.nn.functional.cross_entropy(model(ink[chosen]), labels[chosen])
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.item())
            if (step + 1) % EVERY == 0:
                tested.append(step + 1)
                right.append(share_right(model, *unseen))
            report((step + 1) / STEPS, f"step {step + 1} of {STEPS}: {right[-1]:.0%} of the held-out digits are right")
        return DigitRun(np.array(losses), np.array(tested, np.float64), np.array(right),
                        share_right(model, ink, labels),
                        sum(parameter.numel() for parameter in model.parameters()))


def share_right(model: "nn.Module", ink: "Tensor", labels: "Tensor") -> float:
    """Return the share of digits that the model reads right."""
    import torch

    with torch.no_grad():
        return float((model(ink).argmax(-1) == labels).float().mean())


MODEL = "marked-digit"
ROWS = COLUMNS = 5   # patches of its pictures, as in model/scratch/canvas.py
SIDE = 8             # pixels of a patch
PICTURES = 8         # canvases to choose from, held out of training


@cache
def patch_network() -> "Transformer":
    """Return the trained model."""
    from model.scratch import models
    from model.scratch.source import weights_file

    return models.load(*weights_file(MODEL))[0]


@cache
def canvases() -> "tuple[Canvas, ...]":
    """Return the first pictures of the test, twins beside each other."""
    from model.scratch.tasks.marked_digit import test_canvases

    return tuple(test_canvases("test", PICTURES))


def swapped(patches: int, moved: int, seed: int) -> np.ndarray:
    """Return an order of so many patches in which `moved` of them have changed places in a ring, int (patch): where the
    patch of each place came from. One patch alone cannot move."""
    order, chosen = np.arange(patches), np.random.default_rng(seed).permutation(patches)[:moved]
    order[chosen] = np.roll(chosen, 1)
    return order


def cut(pixels: np.ndarray, side: int) -> np.ndarray:
    """Square patches of a picture (row, column), row by row: (patch, side, side)."""
    rows, columns = (length // side for length in pixels.shape)
    return pixels.reshape(rows, side, columns, side).swapaxes(1, 2).reshape(rows * columns, side, side)


def laid(patches: np.ndarray, columns: int) -> np.ndarray:
    """Patches (patch, side, side) as a picture again, (row, column)."""
    count, side, _ = patches.shape
    return patches.reshape(count // columns, columns, side, side).swapaxes(1, 2).reshape(-1, columns * side)


def read(pixels: np.ndarray, placed: bool) -> np.ndarray:
    """Return the logits at [CLS], float32 (digit), of a picture (row, column), uint8, from black 0 to white 255.
    placed: with the learned places; without them every token has its content alone, all else being as it was
    trained."""
    import torch

    from model.scratch.tasks.marked_digit import ink

    model = patch_network()
    with torch.inference_mode():
        tokens = model.embedding.tokens(ink(pixels)[None])
        x = model.embedding.positions(tokens) if placed else tokens
        everybody = torch.ones(1, 1, 1, x.shape[1], dtype=torch.bool)
        return model.output(model.encoder(x, everybody))[0, 0].numpy()


def place_vectors() -> np.ndarray:
    """Return the learned vector of each place, float64 (place, d_model), [CLS]'s left out."""
    return patch_network().embedding.positions.table.detach().double().numpy()[1:]


def numbers(height: int, width: int, side: int, d_model: int) -> dict[str, int]:
    """Return what a patch's side in pixels decides: tokens, with [CLS]; pixels a patch; weights of a head's matrix;
    numbers of the linear map with its bias, and of the table of places."""
    patches = (height // side) * (width // side)
    return {"tokens": patches + 1, "pixels": side**2, "weights": (patches + 1) ** 2,
            "map": side**2 * d_model + d_model, "places": (patches + 1) * d_model}


def blocks() -> int:
    """Return numbers in the blocks of the model, which know nothing of pictures."""
    return sum(parameter.numel() for parameter in patch_network().encoder.parameters())
