"""A canvas with two or three handwritten digits and a dot under one of them: the digit above the dot is meant. Some
canvases of training have one digit alone.

Everything is drawn from a `random.Random`, so that a seed says which canvases there are. Held out are digits and
places: a set of places that is tested is never trained on, whichever of its digits is marked, and neither is a digit.
"""
import hashlib
import random
from dataclasses import dataclass, replace

import numpy as np

from model.scratch.pictures.digits import CLASSES, SIDE, VARIANTS, digits, variants

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
        """The picture, grey, uint8 (row, column): 255 is paper."""
        ink = np.zeros((ROWS, COLUMNS, SIDE, SIDE), np.float32)
        for place, number, variant in zip(self.places, self.numbers, self.variants, strict=True):
            ink[divmod(place, COLUMNS)] = variants()[variant, number] if variant else digits(self.split).ink[number]
        row, column = self.dot
        ink[divmod(self.marker, COLUMNS)][row:row + DOT, column:column + DOT] = 1
        return PAPER - (ink * PAPER).round().astype(np.uint8).swapaxes(1, 2).reshape(ROWS * SIDE, COLUMNS * SIDE)


def bucket(places: tuple[int, ...]) -> str:
    """The split that a set of places belongs to: 8 in 10 train, 1 validation, 1 test."""
    digest = hashlib.blake2b(repr(sorted(places)).encode(), digest_size=4).digest()
    return {0: "validation", 1: "test"}.get(int.from_bytes(digest) % 10, "train")


def draw_places(rng: random.Random, split: str) -> tuple[int, ...]:
    """Two or three patches of this split; none stands under another, where its dot would be."""
    while True:
        places = tuple(rng.sample(range(PLACES), rng.choice(ALONE if split == "train" else COUNTS)))
        if bucket(places) == split and not any(place + COLUMNS in places for place in places):
            return places


def draw(rng: random.Random, split: str = "train") -> Canvas:
    """A canvas of different digits. Those of training canvases come in variants, so that each is many."""
    places, known = draw_places(rng, split), digits(split)
    numbers = tuple(int(rng.choice(known.of(label))) for label in rng.sample(range(CLASSES), len(places)))
    written = tuple(rng.randrange(VARIANTS) if split == "train" else 0 for _ in places)
    return Canvas(split, places, numbers, written, (rng.choice(DOT_ROWS), rng.choice(DOT_COLUMNS)),
                  rng.randrange(len(places)))


def twins(rng: random.Random, split: str) -> tuple[Canvas, Canvas]:
    """The same canvas twice, with the dot under one of its digits and under another."""
    canvas = draw(rng, split)
    first, second = rng.sample(range(len(canvas.places)), 2)
    return replace(canvas, marked=first), replace(canvas, marked=second)
