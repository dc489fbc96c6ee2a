"""Handwritten digits of 8 × 8 pixels (E. Alpaydin and C. Kaynak 1998, CC BY 4.0; see assets/digits)."""
import gzip
from dataclasses import dataclass
from functools import cache

import numpy as np

from model.core.assets import ASSETS

FILE = ASSETS / "digits" / "digits.csv.gz"
SIDE, CLASSES, WHITE = 8, 10, 16     # pixels; digits; the greatest value in the file
SPLITS = {"validation": 250, "test": 250}   # digits that are held out of training
SEED = 2020


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
