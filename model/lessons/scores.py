"""Compare additive and dot-product scores, trained on the same data to look up the value of the key that equals the
query.

- additive (Bahdanau et al. 2015, appendix A.1.2): v · tanh(W_q q + W_k k)
- scaled (Vaswani et al. 2017, section 3.2.1): q · k / √d_k
- plain: q · k

A row contains LENGTH different symbols, each with a random class. The query is one of the symbols, and its class is the
target. Queries and keys are initialised with random vectors (symbol, d_k) of unit variance, the same for all scores.
Because symbols are one-hot, these vectors are W_q and W_k.
"""
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearhead.model.core import attention
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen
from clearhead.model.core.statistics import entropy
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.lessons.cost import seconds_of

if TYPE_CHECKING:
    from torch import Tensor

KINDS = ("additive", "scaled", "plain")
SYMBOLS, LENGTH, CLASSES, D_VALUE = 12, 6, 8, 16
BATCH, RATE = 64, 1e-2        # rows per batch; Adam's learning rate for all scores
STEPS = 200
TIMED = 64                    # number of queries and of keys for timing


class Scored(NamedTuple):
    """One score's training."""

    loss: np.ndarray    # loss of each batch before its update, nats (step)
    right: np.ndarray   # accuracy on the same batches (step)
    bits: float         # mean entropy of a row before training
    seconds: float      # to score TIMED queries with TIMED keys


@frozen
class ScoresQuery:
    """How do the three kinds of scores learn from the same data and the same start?"""

    d_k: int
    seed: int

    def answer(self, models: Models, report: Progress) -> dict[str, Scored]:
        """Train all three."""
        import torch

        part, (symbols, _, asked, _) = start(self.d_k, self.seed), next(rows(self.seed, 1))
        query, key = torch.randn(2, TIMED, self.d_k)
        found = {}
        with one_thread():
            for kind in KINDS:
                curves = train_kind(kind, self.d_k, self.seed, report)
                with torch.inference_mode():
                    before = score(kind, part["query"][asked][:, None], part["key"][symbols], part["v"]).softmax(-1)
                    seconds = seconds_of(functools.partial(score, kind, query, key, part["v"]))
                found[kind] = Scored(*curves, float(entropy(before.double().numpy(), base=2).mean()), seconds)
        return found


def score(kind: str, query: "Tensor", key: "Tensor", v: "Tensor") -> "Tensor":
    """Compute the scores (..., query, key) of queries (..., query, d_k) and keys (..., key, d_k). v: vector (d_k) of
    the additive score."""
    import torch

    if kind == "additive":
        return torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ v
    return attention.scores(query, key, scale=1.0 if kind == "plain" else None)


def rows(seed: int, count: int) -> "Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]":
    """Yield batches: symbols (b, LENGTH), their classes (b, LENGTH), the query symbol (b) and its class (b)."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    for _ in range(count):
        symbols = torch.rand(BATCH, SYMBOLS, generator=draw).argsort(-1)[:, :LENGTH]
        classes = torch.randint(CLASSES, (BATCH, LENGTH), generator=draw)
        place = torch.randint(LENGTH, (BATCH, 1), generator=draw)
        yield symbols, classes, symbols.gather(1, place)[:, 0], classes.gather(1, place)[:, 0]


def start(d_k: int, seed: int) -> "dict[str, Tensor]":
    """Draw the initial parameters: W_q, W_k (symbol, d_k), v (d_k), values (class, D_VALUE), out (D_VALUE, class)."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    shapes = {"query": (SYMBOLS, d_k), "key": (SYMBOLS, d_k), "v": (d_k,), "value": (CLASSES, D_VALUE),
              "out": (D_VALUE, CLASSES)}
    scale = {"v": d_k**-0.5, "out": D_VALUE**-0.5}
    return {name: (torch.randn(shape, generator=draw) * scale.get(name, 1.0)).requires_grad_()
            for name, shape in shapes.items()}


def train(part: "dict[str, Tensor]", score: "Callable[[Tensor, Tensor], Tensor]", seed: int,
          done: Callable[[int], None]) -> tuple[np.ndarray, np.ndarray]:
    """Train the parameters `part` in place. Return the loss and the accuracy on each batch before its update, (step)
    each.

    score: function of queries (b, 1, d_k) and keys (b, LENGTH, d_k) that returns the softmax's input. done: called
    after every step with its number, from 1.
    """
    import torch

    from clearhead.model.scratch.train import update

    curves, optimiser = [], torch.optim.Adam(part.values(), RATE)
    for step, (symbols, classes, asked, answer) in enumerate(rows(seed, STEPS), 1):
        weights = torch.softmax(score(part["query"][asked][:, None], part["key"][symbols]), -1)
        guess = (weights @ part["value"][classes])[:, 0] @ part["out"]
        loss = torch.nn.functional.cross_entropy(guess, answer)
        update(optimiser, loss)
        curves.append((loss.item(), (guess.argmax(-1) == answer).double().mean().item()))
        done(step)
    losses, rights = np.array(curves).T
    return losses, rights


def train_kind(kind: str, d_k: int, seed: int, report: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Train one kind of score from its random start. Return the loss and the accuracy, (step) each."""
    part = start(d_k, seed)
    return train(part, functools.partial(score, kind, v=part["v"]), seed,
                 lambda step: report(step / STEPS, f"training: {kind}"))
