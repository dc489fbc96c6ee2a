"""Recurrent encoder–decoders that copy, trained and measured; the networks are in model.lessons.recurrent.

torch is imported where it computes."""
import time
from dataclasses import dataclass

import numpy as np

from model.core.masks import frozen_array
from model.core.models import Models
from model.core.threads import one_thread
from model.core.types import Progress

KINDS = ("fixed", "wide", "attention")   # of the runs in assets/lessons
LIVE = ("fixed", "attention")            # of those that a page trains
TRAINED = 12                             # the longest text of the training
LENGTHS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24)
STEPS, SHORT = 800, 250                  # of training: in assets/lessons, and live


@dataclass(frozen=True)
class CopyQuery:
    """Train the copiers of LIVE for SHORT steps."""

    seed: int

    def answer(self, models: Models, report: Progress) -> "Copying":
        """What they learn, the same in every process."""
        with one_thread():
            return run(LIVE, SHORT, self.seed, report)


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


def run(kinds: tuple[str, ...], steps: int, seed: int, report: Progress) -> Copying:
    """Trains the kinds, of which the last is attention, and measures each. The alignment is that of one text of TRAINED
    symbols."""
    import torch

    from model.lessons import recurrent

    right, seconds, parameters = {}, {}, {}
    for number, kind in enumerate(kinds):
        def report_step(step: int, number: int = number, kind: str = kind) -> None:
            report((number + step / steps) / len(kinds), f"training: {kind}")

        begun = time.perf_counter()
        model = recurrent.train(kind, TRAINED, steps, seed, report_step)
        seconds[kind] = time.perf_counter() - begun
        right[kind] = np.array(recurrent.accuracy(model, LENGTHS, seed))
        parameters[kind] = sum(parameter.numel() for parameter in model.parameters())
    text = torch.randint(recurrent.SYMBOLS, (1, TRAINED), generator=torch.Generator().manual_seed(20_000 + seed))
    with torch.inference_mode():
        logits, weights = model(text)   # of the last model, the one with attention
    return Copying(right, seconds, parameters, weights[0].numpy(), tuple(text[0].tolist()),
                   tuple(logits[0].argmax(-1).tolist()))
