"""Handwritten digits of 8 × 8 pixels (E. Alpaydin and C. Kaynak 1998, CC BY 4.0; see assets/digits), and canvases with
two or three digits and a dot below one of them. The answer is the digit above the dot. Some training canvases have a
single digit.

All randomness comes from a `random.Random`, so a seed determines the canvases. Tested digits and sets of positions
never occur in training.
"""
import gzip
import random
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

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

    def __post_init__(self) -> None:
        for array in (self.ink, self.labels):
            array.setflags(write=False)

    def of(self, label: int) -> np.ndarray:
        """Return the indices of one class's digits."""
        return np.flatnonzero(self.labels == label)


@cache
def digits(split: str = "train") -> Digits:
    """Return the digits of a split: train (1,297), validation or test (250 each), without overlap."""
    with gzip.open(FILE) as file:
        rows = np.loadtxt(file, np.uint8, delimiter=",")
    order, begin = np.random.default_rng(SEED).permutation(len(rows)), 0
    for name, count in SPLITS.items():
        if name == split:
            order = order[begin:begin + count]
            break
        begin += count
    else:
        order = order[begin:]
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


ROWS = COLUMNS = 5                   # patches
PLACES = (ROWS - 1) * COLUMNS  # patches that may hold a digit: not the last row, where there is no room for a dot below
PAPER = 255                          # 8-bit value of a blank pixel; ink is 0
COUNTS = (2, 3)                      # digits per canvas
ALONE = (1, *COUNTS)                 # digits per training canvas: single digits teach the digits first, then the dot
DOT = 2                              # width and height in pixels
DOT_ROWS, DOT_COLUMNS = (1, 2, 3), (2, 3, 4)   # possible offsets of the dot in its patch


@frozen
class Canvas:
    """A picture and its ground truth. Patches are numbered from 0, row by row."""

    split: str                              # the split of its digits and positions
    places: tuple[int, ...]                 # the patches of its digits
    numbers: tuple[int, ...]                # indices of its digits in the split
    variants: tuple[int, ...]               # for each digit, 0 for the original or an index into variants()
    dot: tuple[int, int]                    # the dot's offset in its patch: row, column
    marked: int                             # index of the marked digit in places

    @property
    def labels(self) -> tuple[int, ...]:
        """The classes of its digits, which all differ."""
        return tuple(int(digits(self.split).labels[number]) for number in self.numbers)

    @property
    def answer(self) -> int:
        """The class of the marked digit."""
        return self.labels[self.marked]

    @property
    def digit(self) -> int:
        """The marked digit's patch."""
        return self.places[self.marked]

    @property
    def marker(self) -> int:
        """The dot's patch."""
        return self.digit + COLUMNS

    def pixels(self) -> np.ndarray:
        """Return the grey picture, uint8 (row, column); 255 is blank paper."""
        ink = laid((ROWS, COLUMNS), self.split, zip(self.places, self.numbers, self.variants, strict=True))
        row, column = self.dot
        ink[divmod(self.marker, COLUMNS)][row:row + DOT, column:column + DOT] = 1
        return greys(ink)


def laid(grid: tuple[int, int], split: str, written: Iterable[tuple[int, int, int]]) -> np.ndarray:
    """Lay digits of a split, each given as place, number and variant, into a grid of (rows, columns), float32 (row,
    column, y, x), 1 for ink."""
    ink = np.zeros((*grid, SIDE, SIDE), np.float32)
    for place, number, variant in written:
        ink[divmod(place, grid[1])] = variants()[variant, number] if variant else digits(split).ink[number]
    return ink


def greys(ink: np.ndarray) -> np.ndarray:
    """Return the picture of a grid of patches as grey values, uint8 (row, column); 255 is blank paper."""
    rows, columns, *_ = ink.shape
    return PAPER - (ink * PAPER).round().astype(np.uint8).swapaxes(1, 2).reshape(rows * SIDE, columns * SIDE)


def bucket(places: tuple[int, ...]) -> str:
    """Return the split of a set of positions: 8 in 10 train, 1 validation, 1 test."""
    return split_of(repr(sorted(places)))


def draw_places(rng: random.Random, split: str) -> tuple[int, ...]:
    """Draw the patches of a canvas's digits from this split. None is directly below another, where the dot would be."""
    while True:
        places = tuple(rng.sample(range(PLACES), rng.choice(ALONE if split == "train" else COUNTS)))
        if bucket(places) == split and not any(place + COLUMNS in places for place in places):
            return places


def draw(rng: random.Random, split: str = "train") -> Canvas:
    """Draw a canvas with different digits, which are augmented in training."""
    places, known = draw_places(rng, split), digits(split)
    numbers = tuple(int(rng.choice(known.of(label))) for label in rng.sample(range(CLASSES), len(places)))
    written = tuple(rng.randrange(VARIANTS) if split == "train" else 0 for _ in places)
    return Canvas(split, places, numbers, written, (rng.choice(DOT_ROWS), rng.choice(DOT_COLUMNS)),
                  rng.randrange(len(places)))


def twins(rng: random.Random, split: str) -> tuple[Canvas, Canvas]:
    """Draw a pair of canvases that differ only in the digit marked by the dot."""
    canvas = draw(rng, split)
    first, second = rng.sample(range(len(canvas.places)), 2)
    return replace(canvas, marked=first), replace(canvas, marked=second)


def ink(pixels: np.ndarray) -> "Tensor":
    """Convert grey pixels (…), uint8, to the model's input, float32 from 0 (paper) to 1 (ink)."""
    import torch

    return torch.from_numpy((PAPER - pixels).astype(np.float32) / PAPER)
