"""What a task is: its sentences as batches, the loss, and how its training runs. The tasks themselves are one file
each, in tasks/."""
import importlib
import pkgutil
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from model.core.query import UserError
from model.scratch.tokens import PADDING
from model.scratch.transformer import Config, Transformer

NO_TARGET = -100  # positions whose output is not asked


@dataclass(frozen=True, eq=False)
class Batch:
    """inputs: ids (b, t), of the source or of source and target. targets (b, q): the right id where one is asked, else
    NO_TARGET."""

    inputs: tuple[Tensor, ...]
    targets: Tensor


@dataclass(frozen=True)
class Task:
    """A thing to learn. Training is Adam with a linear warm-up and a linear fall to 0 at the last step."""

    name: str                                          # on the command line and of its files
    title: str                                         # for people
    config: Config                                     # of the model
    words: tuple[str, ...]                             # the vocabulary, from SPECIALS on
    draw: Callable[[random.Random, int], Batch]        # draw(rng, b) makes a batch of b texts
    score: Callable[[Transformer], dict[str, float]]   # score(model): the figures that are written beside the weights
    steps: int                                         # of the training
    batch: int = 64                                    # texts a step
    learning_rate: float = 2e-3                        # at its peak
    warm_up: int = 200                                 # steps
    film_bytes: int = 1_740_000                        # of all snapshots in 8 bits; decides how many there are
    note: str = ""                                     # for people


def pad_rows(rows: list[list[int]], filler: int = PADDING) -> Tensor:
    """Return rows of different lengths as one tensor (b, t)."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)


def loss(model: Transformer, batch: Batch) -> Tensor:
    """Cross-entropy in nats, mean over the positions that are asked."""
    return nn.functional.cross_entropy(model(*batch.inputs).flatten(0, 1), batch.targets.flatten(),
                                       ignore_index=NO_TARGET)


def correct_rows(model: Transformer, batch: Batch) -> Tensor:
    """Return which rows have every asked position right, bool (b)."""
    with torch.inference_mode():
        answer = model(*batch.inputs).argmax(-1)
    return ((answer == batch.targets) | (batch.targets == NO_TARGET)).all(-1)


@cache
def tasks() -> dict[str, Task]:
    """Return every task by name: those of the modules in tasks/."""
    from model.scratch import tasks as folder

    modules = [importlib.import_module(f"{folder.__name__}.{each.name}")
               for each in pkgutil.iter_modules(folder.__path__)]
    return {task.name: task for module in modules for task in module.TASKS}


def tasks_named(name: str) -> list[Task]:
    """Return the task of this name, or all variants of it ("resolver" is resolver-narrow and resolver-wide). Raises
    UserError for an unknown one."""
    matching = [task for task in tasks().values() if task.name == name or task.name.startswith(f"{name}-")]
    if not matching:
        raise UserError(f"There is no task named {name!r}; choose one of {', '.join(tasks())}.")
    return matching
