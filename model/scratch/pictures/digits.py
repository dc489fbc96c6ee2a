"""Handwritten digits of 8 × 8 pixels (E. Alpaydin and C. Kaynak 1998, CC BY 4.0; see assets/digits)."""
import gzip
from dataclasses import dataclass
from functools import cache

import numpy as np

from model.core.files import ASSETS

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
        """Where the digits of one class stand."""
        return np.flatnonzero(self.labels == label)


@cache
def digits(split: str = "train") -> Digits:
    """The digits of train (1,297), validation or test (250 each), which share none."""
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
    """The digits of training as other hands might have written them: as they are, and VARIANTS − 1 times a little
    turned, scaled, slanted and moved, float32 (variant, digit, row, column)."""
    ink, rng = digits().ink, np.random.default_rng(SEED)
    shape = (VARIANTS - 1, len(ink))
    turn, scale, slant = (rng.uniform(-most, most, shape) for most in (TURN, SCALE, SLANT))
    moves = rng.uniform(-MOVE, MOVE, (*shape, 2))
    cosine, sine = np.cos(turn) * (1 + scale), np.sin(turn) * (1 + scale)
    maps = np.stack([np.stack([cosine, sine], -1), np.stack([slant - sine, cosine], -1)], -2)   # (…, from, to)
    return np.concatenate([ink[None], [warped(ink, *each) for each in zip(maps, moves, strict=True)]])


def warped(ink: np.ndarray, maps: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Pictures (digit, row, column) read at maps (digit, 2, 2) · place + moves (digit, 2), in pixels from the middle,
    between four pixels each; float32, paper beyond the edge."""
    middle, count = (SIDE - 1) / 2, len(ink)
    places = np.stack(np.meshgrid(*[np.arange(SIDE) - middle] * 2, indexing="ij"), -1)   # (row, column, 2)
    source = np.einsum("nij,rcj->nrci", maps, places) + moves[:, None, None] + middle
    padded = np.pad(ink, ((0, 0), (SIDE, SIDE), (SIDE, SIDE)))
    source = np.clip(source + SIDE, 0, 3 * SIDE - 2)
    low = np.floor(source).astype(int)
    part, number = source - low, np.arange(count)[:, None, None]
    (row, column), (down, right) = np.moveaxis(low, -1, 0), np.moveaxis(part, -1, 0)
    upper = padded[number, row, column] * (1 - right) + padded[number, row, column + 1] * right
    lower = padded[number, row + 1, column] * (1 - right) + padded[number, row + 1, column + 1] * right
    return np.asarray(upper * (1 - down) + lower * down, np.float32)
