"""Small models trained with no division, with 1/√d_k and with 1/d_k, from the same start on the same rows: look up the
class of the key that equals the query.

The task, its rows and its start are those of model.lessons.scores. 1/d_k is what Yang et al. 2022 (arXiv:2203.03466)
argue for: trained queries and keys are no longer independent, and then q · k grows like d_k. """
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from model.core.masks import frozen_array
from model.core.models import Models
from model.core.statistics import entropy
from model.core.threads import one_thread
from model.core.types import Progress, quiet
from model.lessons import scores

DIVISORS = ("none", "root", "width")
STEPS, EVERY = scores.STEPS, 10     # of the training; between two frames of its film
LAST = 20                           # steps that the end is the mean of


@dataclass(frozen=True)
class TrainingQuery:
    """Train a model with each of DIVISORS from one start."""

    d_k: int
    seed: int

    def answer(self, models: Models, report: Progress) -> "Trainings":
        """What the trainings did, the same in every process."""
        with one_thread():
            return run(self, report)


@dataclass(frozen=True, eq=False)
class Trainings:
    """What the trainings of one start did, by divisor, float64."""

    loss: dict[str, np.ndarray]    # of each step's batch before its step, nats (step)
    right: dict[str, np.ndarray]   # share of the same batches that is answered rightly (step)
    film: dict[str, np.ndarray]    # weights of every symbol's query over all symbols' keys (frame, query, key)

    def __post_init__(self) -> None:
        for name in ("loss", "right", "film"):
            object.__setattr__(self, name, {which: frozen_array(each) for which, each in getattr(self, name).items()})

    @property
    def nbytes(self) -> int:
        """Bytes of the curves and films."""
        return sum(each.nbytes for part in vars(self).values() for each in part.values())

    def end(self, which: str) -> float:
        """Share answered rightly at the end, the mean of the last LAST steps."""
        return float(self.right[which][-LAST:].mean())

    def bits(self, which: str) -> float:
        """Mean entropy in bits of a symbol's untrained row over all symbols."""
        return float(entropy(self.film[which][0], base=2).mean())


def divisor(which: str, d_k: int) -> float:
    """What q · k is divided by: 1, √d_k or d_k."""
    return {"none": 1.0, "root": d_k**0.5, "width": float(d_k)}[which]


def run(question: TrainingQuery, report: Progress = quiet) -> Trainings:
    """All three from the same start on the same rows; report stops it by raising."""
    loss, right, film = {}, {}, {}
    for number, which in enumerate(DIVISORS):
        def report_step(step: int, number: int = number) -> None:
            report((number + step / STEPS) / len(DIVISORS), f"model {number + 1} of {len(DIVISORS)}, step {step}")

        loss[which], right[which], film[which] = train(question, divisor(which, question.d_k), report_step)
    return Trainings(loss, right, film)


def train(question: TrainingQuery, divided_by: float,
          report_step: Callable[[int], None] = lambda step: None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One training: loss (step), share right (step), and the film (frame, query, key) with a frame before the first
    step and after every EVERY-th."""
    import torch

    part = {name: each for name, each in scores.start(question.d_k, question.seed).items() if name != "v"}
    adam, curves = torch.optim.Adam(part.values(), scores.RATE), []
    frames = [_weights(part, divided_by)]
    for step, (symbols, classes, asked, answer) in enumerate(scores.rows(question.seed, STEPS), 1):
        dots = part["query"][asked][:, None] @ part["key"][symbols].transpose(1, 2)
        weights = torch.softmax(dots / divided_by, -1)
        guess = (weights @ part["value"][classes])[:, 0] @ part["out"]
        loss = torch.nn.functional.cross_entropy(guess, answer)
        adam.zero_grad()
        loss.backward()
        adam.step()
        curves.append((loss.item(), (guess.argmax(-1) == answer).double().mean().item()))
        if step % EVERY == 0:
            frames.append(_weights(part, divided_by))
        report_step(step)
    losses, rights = np.array(curves).T
    return losses, rights, np.array(frames)


def _weights(part: dict, divided_by: float) -> np.ndarray:
    """The weights of every symbol's query over all symbols' keys, float64 (query, key)."""
    import torch

    with torch.no_grad():
        return torch.softmax((part["query"] @ part["key"].T).double() / divided_by, -1).numpy()
