"""What is asked of the recurrent encoder–decoders that copy, and what is answered; the networks are in
model.lessons.recurrent."""
from dataclasses import dataclass

import numpy as np

from model.core.masks import frozen_array

KINDS = ("fixed", "wide", "attention")   # of the runs in assets/lessons
LIVE = ("fixed", "attention")            # of those that a page trains
TRAINED = 12                             # the longest text of the training
LENGTHS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24)
STEPS, SHORT = 800, 250                  # of training: in assets/lessons, and live


@dataclass(frozen=True)
class CopyQuery:
    """Train the copiers for SHORT steps: answered by `Copying`."""

    seed: int


@dataclass(frozen=True, eq=False)
class Copying:
    """What the copiers learned, by kind."""

    right: dict[str, np.ndarray]   # {kind: share of right symbols at each of LENGTHS, reading its own output}
    seconds: dict[str, float]      # {kind: of the training}
    parameters: dict[str, int]     # {kind: how many}
    alignment: np.ndarray          # what the one with attention looked at, (step, symbol); rows sum to 1
    text: tuple[int, ...]          # the symbols that it read
    written: tuple[int, ...]       # the symbols that it wrote

    def __post_init__(self) -> None:
        object.__setattr__(self, "right", {kind: frozen_array(each) for kind, each in self.right.items()})
        object.__setattr__(self, "alignment", frozen_array(self.alignment))
        if self.alignment.shape != (len(self.written), len(self.text)):
            raise ValueError(f"Copying: expected an alignment (written, text), got {self.alignment.shape}.")
