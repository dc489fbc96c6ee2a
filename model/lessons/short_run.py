"""A training that takes seconds: the resolver's task in a tiny setting, with the loss, the optimiser and the schedule
of one's choice.

The encoder names, at "it", the noun that "it" stands for, in sentences of one FRAME: on all frames a network of this
size still names either noun after thousands of steps. Two runs with the same
seed start from the same weights and see the same sentences, so that whatever differs is what was chosen. """
import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from model.core.models import Models
from model.core.threads import seeded
from model.core.types import Progress, quiet
from model.lessons.descent import scaled_rate
from model.lessons.divergence import smoothed_target

if TYPE_CHECKING:
    from torch import Tensor

    from model.scratch.transformer import Transformer

# steps, sentences a step, sentences of the test, steps between two tests
STEPS, SIZE, TESTED, EVERY = 300, 32, 200, 10
WIDTH = 32
FRAME = "cross"   # the animal didn't cross the street because it was too ...
TARGETS = ("word", "smooth", "teacher", "other")


@dataclass(frozen=True)
class RunQuery:
    """One short training. The defaults are the paper's optimiser (section 5.3), with rate and warm-up scaled to
    a run of 300 steps.

    Targets: "word" (the noun that "it" is), "smooth" (the same with label smoothing), "teacher" (distillation: what the
    plain run says), "other" (fine-tuning: the plain run's weights learn to name the other noun).
    """

    target: str = "word"         # one of TARGETS
    epsilon: float = 0.1         # of label smoothing
    definition: str = "others"   # of label smoothing: one of model.lessons.divergence.DEFINITIONS
    beta2: float = 0.98          # of Adam
    adam_epsilon: float = 1e-9   # of Adam
    rate: float = 0.01           # the learning rate at its peak
    warm_up: int = 30            # steps; 0 for none
    decay: bool = True           # whether the rate falls after the warm-up
    clip: float = 0.0            # length that gradients are shortened to; 0 for never
    seed: int = 1                # of the first weights and of the sentences
    fresh: bool = False          # "other" from untrained weights, to compare with

    def answer(self, models: Models, report: Progress) -> "ShortRun":
        """The curves of the training."""
        return run(self, report)


@dataclass(frozen=True, eq=False)
class ShortRun:
    """The curves of a training, float64 arrays over its steps or its tests."""

    loss: np.ndarray       # nats (step)
    floor: np.ndarray      # the target's entropy, which no loss goes below, nats (step)
    rate: np.ndarray       # the learning rate (step)
    gradient: np.ndarray   # length of the gradient before clipping (step)
    tested: np.ndarray     # the steps at which sentences of unseen pairs of nouns were tried (test)
    nats: np.ndarray       # −ln p of the right word there (test)
    right: np.ndarray      # share of these sentences whose noun is named right (test)

    @property
    def nbytes(self) -> int:
        """Bytes of the curves."""
        return sum(var.nbytes for var in vars(self).values())


@lru_cache(maxsize=2 * STEPS)
def sentences(seed: int, step: int) -> "tuple[Tensor, Tensor, Tensor, Tensor]":
    """(ids (b, t), place of "it" (b), id of its noun (b), id of the other noun (b)) of one step's sentences; step −1 is
    the test."""
    import torch

    from model.scratch import grammar
    from model.scratch.task import pad_rows
    from model.scratch.tasks import resolver

    drawn = grammar.sentences(random.Random(f"short {seed} {step}"), "train" if step >= 0 else "validation")
    source = (each for each in drawn if each.frame == FRAME)
    chosen = [next(source) for _ in range(SIZE if step >= 0 else TESTED)]
    ids = [resolver.encode(each)[0] for each in chosen]
    nouns = [[row[each.places[each.answer]], row[each.places[1 - each.answer]]]
             for row, each in zip(ids, chosen, strict=True)]
    return pad_rows(ids), torch.tensor([each.pronoun for each in chosen]), *torch.tensor(nouns).T


def untrained_model(seed: int) -> "Transformer":
    """The tiny encoder: the wide resolver with d_model 32."""
    from model.scratch.tasks import resolver
    from model.scratch.transformer import Transformer

    with seeded(seed):
        return Transformer(replace(resolver.TASKS[1].config, d_model=WIDTH, d_ff=2 * WIDTH))


def at_it(model: "Transformer", ids: "Tensor", places: "Tensor") -> "Tensor":
    """Logits at "it" (b, word)."""
    return model.output(model.encode(ids)[range(len(ids)), places])


def targets(question: RunQuery, step: int, teacher: "Transformer | None", words: int) -> "Tensor":
    """What the model should say at "it", float32 (b, word): the P in −Σ P ln Q."""
    import torch

    ids, places, nouns, others = sentences(question.seed, step)
    if question.target == "teacher":
        with torch.no_grad():
            return at_it(cast("Transformer", teacher), ids, places).softmax(-1)
    right = others if question.target == "other" else nouns
    row = smoothed_target(0, words, question.epsilon if question.target == "smooth" else 0.0, question.definition)
    spread = torch.full((len(right), words), row[1], dtype=torch.float32)
    return spread.scatter(1, right[:, None], float(row[0]))


@lru_cache(maxsize=4)
def trained_plainly(seed: int) -> "Transformer":
    """The plain run's trained model: the teacher of distillation, the start of fine-tuning."""
    return train(RunQuery(seed=seed), untrained_model(seed), None, quiet)[0]


def run(question: RunQuery, report: Progress = quiet) -> ShortRun:
    """Trains with these settings, a few seconds on one core; report is called after every step and stops it by
    raising."""
    from model.core.threads import one_thread

    with one_thread():
        needs = question.target in ("teacher", "other")
        if needs:
            report(0.0, "training the plain model first")
        teacher = trained_plainly(question.seed) if needs else None
        model = untrained_model(question.seed)
        if teacher is not None and question.target == "other" and not question.fresh:
            model.load_state_dict(teacher.state_dict())
        return train(question, model, teacher, report)[1]


def train(question: RunQuery, model: "Transformer", teacher: "Transformer | None",
          report: Progress) -> "tuple[Transformer, ShortRun]":
    """(the trained model, its curves)."""
    import torch

    adam = torch.optim.Adam(model.parameters(), betas=(0.9, question.beta2), eps=question.adam_epsilon)
    curves, tests = [], [(0, *_test(model, question))]
    with torch.enable_grad():
        for step in range(STEPS):
            adam.param_groups[0]["lr"] = scaled_rate(step + 1, question.rate, question.warm_up, question.decay)
            ids, places, _, _ = sentences(question.seed, step)
            wanted = targets(question, step, teacher, model.config.vocabulary)
            loss = torch.nn.functional.cross_entropy(at_it(model, ids, places), wanted)
            adam.zero_grad()
            loss.backward()
            length = torch.nn.utils.clip_grad_norm_(model.parameters(), question.clip or float("inf"))
            adam.step()
            floor = -torch.special.xlogy(wanted, wanted).sum(-1).mean()
            curves.append((loss.item(), abs(floor.item()), adam.param_groups[0]["lr"], length.item()))
            if (step + 1) % EVERY == 0:
                tests.append((step + 1, *_test(model, question)))
            report((step + 1) / STEPS, f"step {step + 1} of {STEPS}: loss {loss.item():.2f} nats")
    return model, ShortRun(*np.array(curves, np.float64).T, *np.array(tests, np.float64).T)


def _test(model: "Transformer", question: RunQuery) -> tuple[float, float]:
    """(−ln p of the right word, share right) on sentences that are never trained."""
    import torch

    ids, places, nouns, others = sentences(0, -1)
    right = others if question.target == "other" else nouns
    with torch.no_grad():
        logits = at_it(model, ids, places)
    return float(torch.nn.functional.cross_entropy(logits, right)), float((logits.argmax(-1) == right).float().mean())
