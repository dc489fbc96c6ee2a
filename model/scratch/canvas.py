"""Handwritten digits of 8 × 8 pixels (E. Alpaydin and C. Kaynak 1998, CC BY 4.0; see assets/digits), and canvases with
two or three of them and a dot under one: the digit above the dot is meant. Some canvases of training have one digit
alone.

Everything is drawn from a `random.Random`, so that a seed says which canvases there are. Held out are digits and
positions: a set of positions that is tested is never trained on, whichever of its digits is marked, and neither is a
digit.
"""
import gzip
import hashlib
import random
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from model.core.files import ASSETS

if TYPE_CHECKING:
    from torch import Tensor

FILE = ASSETS / "digits" / "digits.csv.gz"
SIDE, CLASSES, WHITE = 8, 10, 16     # pixels; digits; the greatest value in the file
SPLITS = {"validation": 250, "test": 250}   # digits that are held out of training
SEED = 2020
VARIANTS = 16                        # of each digit of training
TURN, SCALE, SLANT, MOVE = 0.2, 0.12, 0.2, 0.6   # at most: radians, share, share, pixels


@dataclass(frozen=True, eq=False)
class Digits:
    """Digits of one split, in an order drawn once."""

    ink: np.ndarray      # 0 (paper) to 1 (ink), float32 (digit, row, column)
    labels: np.ndarray   # which digit it is, int64 (digit)

    def __post_init__(self) -> None:
        for array in (self.ink, self.labels):
            array.setflags(write=False)

    def of(self, label: int) -> np.ndarray:
        """Return where the digits of one class stand."""
        return np.flatnonzero(self.labels == label)


@cache
def digits(split: str = "train") -> Digits:
    """Return the digits of train (1,297), validation or test (250 each), which share none."""
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
    """Return the digits of training as other hands might have written them: as they are, and VARIANTS − 1 times a
    little turned, scaled, slanted and moved, float32 (variant, digit, row, column)."""
    ink, rng = digits().ink, np.random.default_rng(SEED)
    shape = (VARIANTS - 1, len(ink))
    turn, scale, slant = (rng.uniform(-most, most, shape) for most in (TURN, SCALE, SLANT))
    moves = rng.uniform(-MOVE, MOVE, (*shape, 2))
    cosine, sine = np.cos(turn) * (1 + scale), np.sin(turn) * (1 + scale)
    maps = np.stack([np.stack([cosine, sine], -1), np.stack([slant - sine, cosine], -1)], -2)   # (…, from, to)
    return np.concatenate([ink[None], [warped(ink, *each) for each in zip(maps, moves, strict=True)]])


def warped(ink: np.ndarray, maps: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return pictures (digit, row, column) read at maps (digit, 2, 2) · place + moves (digit, 2), in pixels from the
    middle, between four pixels each; float32, paper beyond the edge."""
    from scipy.ndimage import map_coordinates

    middle = (SIDE - 1) / 2
    places = np.stack(np.meshgrid(*[np.arange(SIDE) - middle] * 2, indexing="ij"), -1)   # (row, column, 2)
    source = np.einsum("nij,rcj->nirc", maps, places) + moves[:, :, None, None] + middle
    return np.stack([map_coordinates(each, at, order=1, mode="grid-constant")
                     for each, at in zip(ink, source, strict=True)])


ROWS = COLUMNS = 5                   # patches
PLACES = (ROWS - 1) * COLUMNS        # of a digit: a patch of any row but the last, below which the dot stands
PAPER = 255                          # of a pixel in 8 bits; ink is 0
COUNTS = (2, 3)                      # digits on a canvas
ALONE = (1, *COUNTS)                 # on one of training: a digit alone teaches digits before the dot
DOT = 2                              # pixels wide and high
DOT_ROWS, DOT_COLUMNS = (1, 2, 3), (2, 3, 4)   # where in its patch the dot may begin


@dataclass(frozen=True)
class Canvas:
    """One picture and its truth. Patches are counted from 0, row by row."""

    split: str                              # of its digits and places
    places: tuple[int, ...]                 # the patches of its digits
    numbers: tuple[int, ...]                # which of the split's digits they are
    variants: tuple[int, ...]               # of each digit: 0 as it was written, else one of digits.variants
    dot: tuple[int, int]                    # where in its patch the dot begins: row, column
    marked: int                             # the digit that is meant, as a number into places

    @property
    def labels(self) -> tuple[int, ...]:
        """What its digits are; no two are the same."""
        return tuple(int(digits(self.split).labels[number]) for number in self.numbers)

    @property
    def answer(self) -> int:
        """The digit that is meant."""
        return self.labels[self.marked]

    @property
    def digit(self) -> int:
        """The patch of the digit that is meant."""
        return self.places[self.marked]

    @property
    def marker(self) -> int:
        """The patch of the dot."""
        return self.digit + COLUMNS

    def pixels(self) -> np.ndarray:
        """Return the picture, grey, uint8 (row, column): 255 is paper."""
        ink = np.zeros((ROWS, COLUMNS, SIDE, SIDE), np.float32)
        for place, number, variant in zip(self.places, self.numbers, self.variants, strict=True):
            ink[divmod(place, COLUMNS)] = variants()[variant, number] if variant else digits(self.split).ink[number]
        row, column = self.dot
        ink[divmod(self.marker, COLUMNS)][row:row + DOT, column:column + DOT] = 1
        return PAPER - (ink * PAPER).round().astype(np.uint8).swapaxes(1, 2).reshape(ROWS * SIDE, COLUMNS * SIDE)


def bucket(places: tuple[int, ...]) -> str:
    """Return the split that a set of places belongs to: 8 in 10 train, 1 validation, 1 test."""
    digest = hashlib.blake2b(repr(sorted(places)).encode(), digest_size=4).digest()
    return {0: "validation", 1: "test"}.get(int.from_bytes(digest) % 10, "train")


def draw_places(rng: random.Random, split: str) -> tuple[int, ...]:
    """Return two or three patches of this split; none stands under another, where its dot would be."""
    while True:
        places = tuple(rng.sample(range(PLACES), rng.choice(ALONE if split == "train" else COUNTS)))
        if bucket(places) == split and not any(place + COLUMNS in places for place in places):
            return places


def draw(rng: random.Random, split: str = "train") -> Canvas:
    """Return a canvas of different digits. Those of training canvases come in variants, so that each is many."""
    places, known = draw_places(rng, split), digits(split)
    numbers = tuple(int(rng.choice(known.of(label))) for label in rng.sample(range(CLASSES), len(places)))
    written = tuple(rng.randrange(VARIANTS) if split == "train" else 0 for _ in places)
    return Canvas(split, places, numbers, written, (rng.choice(DOT_ROWS), rng.choice(DOT_COLUMNS)),
                  rng.randrange(len(places)))


def twins(rng: random.Random, split: str) -> tuple[Canvas, Canvas]:
    """Return the same canvas twice, with the dot under one of its digits and under another."""
    canvas = draw(rng, split)
    first, second = rng.sample(range(len(canvas.places)), 2)
    return replace(canvas, marked=first), replace(canvas, marked=second)


def ink(pixels: np.ndarray) -> "Tensor":
    """Grey pixels (…), uint8, as the model reads them: 0 paper to 1 ink, float32."""
    import torch

    return torch.from_numpy((PAPER - pixels).astype(np.float32) / PAPER)
