"""Handwritten digits of 8 × 8 pixels (E. Alpaydin and C. Kaynak 1998, CC BY 4.0; see assets/digits), and canvases with
two or three digits and a dot below one of them. The answer is the digit above the dot. Some training canvases have a
single digit.

All randomness comes from a `random.Random`, so a seed determines the canvases. Tested digits and sets of positions
never occur in training.
"""
import gzip
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import frozen, with_arrays
from clearhead.model.scratch.grammar import split_of

if TYPE_CHECKING:
    from torch import Tensor

FILE = ASSETS / "digits" / "digits.csv.gz"
SIDE, CLASSES, WHITE = 8, 10, 16     # pixels; digits; largest value in the file
SPLITS = {"validation": 250, "test": 250}   # number of digits held out
SEED = 2020
VARIANTS = 16                        # versions per training digit: the original and augmented copies
TURN, SCALE, SLANT, MOVE = 0.2, 0.12, 0.2, 0.6   # maxima: radians, fraction, fraction, pixels


@with_arrays
class Digits:
    """The digits of one split, in a fixed random order."""

    ink: np.ndarray      # 0 (paper) to 1 (ink), float32 (digit, row, column)
    labels: np.ndarray   # the class of each digit, int64 (digit)

    def of(self, label: int) -> np.ndarray:
        """Return the indices of one class's digits."""
        return np.flatnonzero(self.labels == label)


@cache
def digits(split: str = "train") -> Digits:
    """Return the digits of a split: train (1,297), validation or test (250 each), without overlap."""
    with gzip.open(FILE) as file:
        rows = np.loadtxt(file, np.uint8, delimiter=",")
    parts = np.split(np.random.default_rng(SEED).permutation(len(rows)), np.cumsum([*SPLITS.values()]))
    order = dict(zip((*SPLITS, "train"), parts, strict=True))[split]
    ink = rows[order, :-1].reshape(-1, SIDE, SIDE).astype(np.float32) / WHITE
    return Digits(ink, rows[order, -1].astype(np.int64))


@cache
def variants() -> np.ndarray:
    """Return the training digits and VARIANTS − 1 augmented copies of each, slightly rotated, scaled, slanted and
    shifted, float32 (variant, digit, row, column)."""
    ink, rng = digits().ink, np.random.default_rng(SEED)
    shape = (VARIANTS - 1, len(ink))
    turn, scale, slant = (rng.uniform(-most, most, shape) for most in (TURN, SCALE, SLANT))
    moves = rng.uniform(-MOVE, MOVE, (*shape, 2))
    cosine, sine = np.cos(turn) * (1 + scale), np.sin(turn) * (1 + scale)
    maps = np.stack([np.stack([cosine, sine], -1), np.stack([slant - sine, cosine], -1)], -2)   # (…, from, to)
    return np.concatenate([ink[None], [warped(ink, *each) for each in zip(maps, moves, strict=True)]])


def warped(ink: np.ndarray, maps: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Warp pictures (digit, row, column): sample them at maps (digit, 2, 2) · position + moves (digit, 2), in pixels
    from the centre, with bilinear interpolation. Return float32, blank outside the original."""
    from scipy.ndimage import map_coordinates

    middle = (SIDE - 1) / 2
    places = np.stack(np.meshgrid(*[np.arange(SIDE) - middle] * 2, indexing="ij"), -1)   # (row, column, 2)
    source = np.einsum("nij,rcj->nirc", maps, places) + moves[:, :, None, None] + middle
    return np.stack([map_coordinates(each, at, order=1, mode="grid-constant")
                     for each, at in zip(ink, source, strict=True)])


PAPER = 255   # 8-bit value of a blank pixel; ink is 0


@frozen
class Drawing:
    """A picture of handwritten digits that all differ, and its ground truth. Its cells, one patch each, are numbered
    from 0, row by row."""

    split: str                  # the split of its digits and cells
    cells: tuple[int, ...]      # of its digits
    numbers: tuple[int, ...]    # indices of its digits in the split
    variants: tuple[int, ...]   # for each digit, 0 for the original or an index into variants()

    grid: ClassVar[tuple[int, int]]   # rows, columns

    @property
    def labels(self) -> dict[int, int]:
        """The class of each digit by its cell."""
        return {cell: int(digits(self.split).labels[number])
                for cell, number in zip(self.cells, self.numbers, strict=True)}

    def ink(self) -> np.ndarray:
        """Return the cells, float32 (row, column, y, x), 1 for ink."""
        ink = np.zeros((*self.grid, SIDE, SIDE), np.float32)
        for cell, number, variant in zip(self.cells, self.numbers, self.variants, strict=True):
            ink[divmod(cell, self.grid[1])] = variants()[variant, number] if variant else digits(self.split).ink[number]
        return ink

    def pixels(self) -> np.ndarray:
        """Return the grey picture, uint8 (row, column); 255 is blank paper."""
        rows, columns = self.grid
        return PAPER - (self.ink() * PAPER).round().astype(np.uint8).swapaxes(1, 2).reshape(rows * SIDE, columns * SIDE)


def draw_cells(rng: random.Random, split: str, cells: int, counts: Sequence[int]) -> tuple[int, ...]:
    """Draw a set of cells of this split, of one of these sizes. Of 10 sets, 8 are in train, 1 is in validation and 1 in
    test."""
    while True:
        drawn = tuple(rng.sample(range(cells), rng.choice(counts)))
        if split_of(repr(sorted(drawn))) == split:
            return drawn


def draw_digits(rng: random.Random, split: str, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw different digits, augmented in the split train. Return their numbers and variants."""
    known = digits(split)
    numbers = tuple(int(rng.choice(known.of(label))) for label in rng.sample(range(CLASSES), count))
    return numbers, tuple(rng.randrange(VARIANTS) if split == "train" else 0 for _ in numbers)


ROWS = COLUMNS = 5                   # patches
PLACES = (ROWS - 1) * COLUMNS  # patches that may hold a digit: not the last row, where there is no room for a dot below
COUNTS = (2, 3)                      # digits per canvas
ALONE = (1, *COUNTS)                 # digits per training canvas: single digits teach the digits first, then the dot
DOT = 2                              # width and height in pixels
DOT_ROWS, DOT_COLUMNS = (1, 2, 3), (2, 3, 4)   # possible offsets of the dot in its patch


@frozen
class Canvas(Drawing):
    """A picture of digits with a dot below one of them."""

    dot: tuple[int, int]   # the dot's offset in its patch: row, column
    marked: int            # index of the marked digit in cells

    grid = (ROWS, COLUMNS)

    @property
    def answer(self) -> int:
        """The class of the marked digit."""
        return self.labels[self.digit]

    @property
    def digit(self) -> int:
        """The marked digit's patch."""
        return self.cells[self.marked]

    @property
    def marker(self) -> int:
        """The dot's patch."""
        return self.digit + COLUMNS

    def ink(self) -> np.ndarray:
        """Return the cells with the dot."""
        ink, (row, column) = super().ink(), self.dot
        ink[divmod(self.marker, COLUMNS)][row:row + DOT, column:column + DOT] = 1
        return ink


def draw(rng: random.Random, split: str = "train") -> Canvas:
    """Draw a canvas. No digit is directly below another, where the dot would be."""
    while True:
        cells = draw_cells(rng, split, PLACES, ALONE if split == "train" else COUNTS)
        if not any(cell + COLUMNS in cells for cell in cells):
            break
    return Canvas(split, cells, *draw_digits(rng, split, len(cells)), (rng.choice(DOT_ROWS), rng.choice(DOT_COLUMNS)),
                  rng.randrange(len(cells)))


def twins(rng: random.Random, split: str) -> tuple[Canvas, Canvas]:
    """Draw a pair of canvases that differ only in the digit marked by the dot."""
    canvas = draw(rng, split)
    first, second = rng.sample(range(len(canvas.cells)), 2)
    return replace(canvas, marked=first), replace(canvas, marked=second)


def ink(pixels: np.ndarray) -> "Tensor":
    """Convert grey pixels (…), uint8, to the model's input, float32 from 0 (paper) to 1 (ink)."""
    import torch

    return torch.from_numpy((PAPER - pixels).astype(np.float32) / PAPER)
