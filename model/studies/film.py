"""A training's film as its file holds it: its snapshots, its curves, and when something in it happened. numpy only.

A training writes one film file and lets it grow (model/scratch/train.py); the shipped models have theirs beside their
weights. """
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from model.core.query import UserError

FORMED = 0.5   # of a score from 0 to 1: a head that reaches it has formed
SMOOTH = 5     # points of a curve whose mean is taken before its fall is looked for; one batch is a noisy witness


@dataclass(frozen=True, eq=False)
class Film:
    """Snapshots and curves of a training. The curves are over the batches that were trained on, each drawn anew."""

    frames: tuple[int, ...]   # the steps that have a snapshot
    step: np.ndarray          # of each point of the curves
    loss: np.ndarray          # nats (point)
    right: np.ndarray         # share of right rows (point)
    about: dict[str, Any]     # what made it, as in the file's metadata

    @property
    def guessing(self) -> float:
        """The loss of a model that finds all its words equally likely, in nats."""
        return float(np.log(self.about["config"]["vocabulary"]))


def read_film(path: Path) -> Film:
    """The film in a file. Raises UserError if it is not there or broken."""
    import json

    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            about = {name: json.loads(value) for name, value in (file.metadata() or {}).items()}
            step, loss, right = (np.asarray(file.get_tensor(f"history.{name}")) for name in ("step", "loss", "right"))
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"The film {path.name} cannot be read ({type(error).__name__}); make it with: python -m model "
                        f"train TASK.") from error
    return Film(tuple(sorted(about["frames"])), step, loss, right, about)


def emergence_interval(steps: Sequence[int], scores: np.ndarray) -> tuple[int, int] | None:
    """Between which two snapshots a head's score (frame) reaches FORMED for good; None if it does not, or was there
    from the start."""
    below = np.flatnonzero(np.asarray(scores) < FORMED)
    if len(below) == 0 or below[-1] == len(scores) - 1:
        return None
    return steps[below[-1]], steps[below[-1] + 1]


def loss_drop_step(film: Film) -> int | None:
    """The step at which the smoothed loss passes the middle between its first and its last value; None for a curve that
    is too short."""
    if len(film.loss) < 2 * SMOOTH:
        return None
    smooth = np.convolve(film.loss, np.ones(SMOOTH) / SMOOTH, "valid")
    if not smooth[-1] < smooth[0]:   # a loss that is no number has no fall either
        return None
    return int(film.step[int(np.argmax(smooth < (smooth[0] + smooth[-1]) / 2)) + SMOOTH // 2])
