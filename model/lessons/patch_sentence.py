"""A picture as a sentence: what the marked digit's Vision Transformer reads with its patches in another order, with its
places and without them; and what its table of places has learned."""
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from model.scratch.pictures.canvas import Canvas
    from model.scratch.transformer import Transformer

MODEL = "marked-digit"
ROWS = COLUMNS = 5   # patches of its pictures, as in model/scratch/pictures/canvas.py
SIDE = 8             # pixels of a patch
PICTURES = 8         # canvases to choose from, held out of training


@cache
def network() -> "Transformer":
    """The trained model."""
    from model.scratch import weights
    from model.scratch.catalogue import weights_file

    return weights.load(*weights_file(MODEL))[0]


@cache
def canvases() -> "tuple[Canvas, ...]":
    """The first pictures of the test, twins beside each other."""
    from model.scratch.tasks.marked_digit import test_canvases

    return tuple(test_canvases("test", PICTURES))


def swapped(patches: int, moved: int, seed: int) -> np.ndarray:
    """An order of so many patches in which `moved` of them have changed places in a ring, int (patch): where the patch
    of each place came from. One patch alone cannot move."""
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


@dataclass(frozen=True, eq=False)
class Reading:
    """What the model makes of one picture."""

    logits: np.ndarray   # at [CLS], float32 (digit)

    @property
    def probabilities(self) -> np.ndarray:
        """Their softmax, float64 (digit)."""
        raised = np.exp(self.logits - self.logits.max(), dtype=np.float64)
        return raised / raised.sum()

    @property
    def answer(self) -> int:
        """The most probable digit."""
        return int(self.logits.argmax())


def read(pixels: np.ndarray, placed: bool) -> Reading:
    """The answer to a picture (row, column), uint8, from black 0 to white 255. placed: with the learned places; without
    them every token has its content alone, all else being as it was trained."""
    import torch

    from model.scratch.tasks.marked_digit import ink

    model = network()
    with torch.inference_mode():
        tokens = model.embedding.tokens(ink(pixels)[None])
        x = model.embedding.positions(tokens) if placed else tokens
        everybody = torch.ones(1, 1, 1, x.shape[1], dtype=torch.bool)
        return Reading(model.output(model.encoder(x, everybody))[0, 0].numpy())


def place_similarity() -> np.ndarray:
    """The cosine between the learned vectors of any two places, float64 (place, place), [CLS]'s place left out."""
    table = network().embedding.positions.table.detach().double().numpy()[1:]
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def numbers(height: int, width: int, side: int, d_model: int) -> dict[str, int]:
    """What a patch's side in pixels decides: tokens, with [CLS]; pixels a patch; weights of a head's matrix; numbers of
    the linear map with its bias, and of the table of places."""
    patches = (height // side) * (width // side)
    return {"tokens": patches + 1, "pixels": side**2, "weights": (patches + 1) ** 2,
            "map": side**2 * d_model + d_model, "places": (patches + 1) * d_model}


def blocks() -> int:
    """Numbers in the blocks of the model, which know nothing of pictures."""
    return sum(parameter.numel() for parameter in network().encoder.parameters())
