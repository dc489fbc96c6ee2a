"""Define tasks: batches, loss and training settings. The individual tasks are in tasks/, one file each."""
import importlib
import pkgutil
import random
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn

from clearhead.model.core.query import UserError, frozen, with_arrays
from clearhead.model.scratch.tokens import PADDING
from clearhead.model.scratch.transformer import Config, Transformer

NO_TARGET = -100  # marks positions without a target


@with_arrays
class Batch:
    """A training batch. inputs: arguments of the model, such as ids (b, t) of the source or of source and target.
    targets (b, q): the correct id, or NO_TARGET if there is none. names: the ids of the words for the patches of a
    picture (b, patch), if they are trained."""

    inputs: tuple[Tensor, ...]
    targets: Tensor
    names: Tensor | None = None


def loss(model: Transformer, batch: Batch) -> Tensor:
    """Return the mean cross-entropy in nats over the positions with a target."""
    return nn.functional.cross_entropy(model(*batch.inputs).flatten(0, 1), batch.targets.flatten(),
                                       ignore_index=NO_TARGET)


@frozen
class Task:
    """A task to learn. Training uses Adam with linear warm-up and linear decay to 0 at the last step."""

    name: str                                          # used on the command line and in file names
    title: str                                         # for display
    config: Config                                     # the model's configuration
    words: tuple[str, ...]                             # the vocabulary, starting with SPECIALS
    draw: Callable[[random.Random, int], Batch]        # draw(rng, b) returns a batch of b texts
    score: Callable[[Transformer], dict[str, float]]   # score(model) returns the scores stored with the weights
    steps: int                                         # training steps
    batch: int = 64                                    # texts per step
    learning_rate: float = 2e-3                        # peak learning rate
    warm_up: int = 200                                 # steps
    film_bytes: int = 1_740_000                        # size of all snapshots in 8 bits; limits their number
    note: str = ""                                     # for display
    loss: Callable[[Transformer, Batch], Tensor] = loss   # loss(model, batch) in nats


def pad_rows(rows: list[list[int]], filler: int = PADDING) -> Tensor:
    """Pad rows of different lengths into one tensor (b, t)."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)


def correct_rows(model: Transformer, batch: Batch) -> Tensor:
    """Return which rows are correct at every position with a target, bool (b)."""
    with torch.inference_mode():
        answer = model(*batch.inputs).argmax(-1)
    return ((answer == batch.targets) | (batch.targets == NO_TARGET)).all(-1)


@cache
def tasks() -> dict[str, Task]:
    """Return all tasks by name, from the modules in tasks/."""
    from clearhead.model.scratch import tasks as folder

    modules = [importlib.import_module(f"{folder.__name__}.{each.name}")
               for each in pkgutil.iter_modules(folder.__path__)]
    return {task.name: task for module in modules for task in module.TASKS}


def tasks_named(name: str) -> list[Task]:
    """Return the task with this name, or all its variants (resolver-narrow and resolver-wide for "resolver"). Raises
    UserError for an unknown name."""
    matching = [task for task in tasks().values() if task.name == name or task.name.startswith(f"{name}-")]
    if not matching:
        raise UserError(f"There is no task named {name!r}; choose one of {', '.join(tasks())}.")
    return matching
