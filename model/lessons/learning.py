"""Show how a network learns: a short training run, gradient descent, distillation, and the divergences that they
minimise."""
import math
import random
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen, quiet, with_arrays
from clearhead.model.core.statistics import entropy
from clearhead.model.core.torch_runs import one_thread, seeded
from clearhead.model.scratch import grammar
from clearhead.model.scratch.source import SNAPSHOT, film_path, weights_file

if TYPE_CHECKING:
    from torch import Tensor

    from clearhead.model.scratch.transformer import Transformer


# steps, sentences per step, test sentences, steps between two tests
STEPS, SIZE, TESTED, EVERY = 300, 32, 200, 10
WIDTH = 32
FRAME = "cross"   # "the animal didn't cross the street because it was too ..."
TARGETS = ("word", "smooth", "teacher", "other")


@frozen
class RunQuery:
    """How does a short training run proceed? The defaults are the paper's optimiser (section 5.3), with rate and
    warm-up scaled to 300 steps.

    The target is "word" (the noun that "it" refers to), "smooth" (the same with label smoothing), "teacher"
    (distillation from the plain run) or "other" (fine-tuning of the plain run to predict the other noun).
    """

    target: str = "word"         # one of TARGETS
    epsilon: float = 0.1         # ε of label smoothing
    where: str = "others"        # where ε goes, one of WHERE
    beta2: float = 0.98          # Adam's β₂
    adam_epsilon: float = 1e-9   # Adam's ε
    rate: float = 0.01           # peak learning rate
    warm_up: int = 30            # number of warm-up steps; 0 for none
    decay: bool = True           # whether the rate falls after the warm-up
    clip: float = 0.0            # maximum gradient norm; 0 for no clipping
    seed: int = 1                # seed of the initial weights and sentences
    fresh: bool = False          # start "other" from untrained weights, for comparison

    def answer(self, models: Models, report: Progress) -> "ShortRun":
        """Run the training and return its curves."""
        with one_thread():
            needs = self.target in ("teacher", "other")
            if needs:
                report(0.0, "training the plain model first")
            teacher = trained_plainly(self.seed) if needs else None
            model = untrained_model(self.seed)
            if teacher is not None and self.target == "other" and not self.fresh:
                model.load_state_dict(teacher.state_dict())
            return train(self, model, teacher, report)[1]


@with_arrays
class ShortRun:
    """The curves of a training run, float64 (step) or (test). Tests use sentences with held-out pairs of nouns."""

    loss: np.ndarray       # nats (step)
    floor: np.ndarray      # entropy of the target, a lower bound of the loss, nats (step)
    gradient: np.ndarray   # gradient norm before clipping (step)
    tested: np.ndarray     # number of steps before each test (test)
    nats: np.ndarray       # −ln p of the correct word (test)
    right: np.ndarray      # share of sentences whose noun is predicted correctly (test)


@lru_cache(maxsize=2 * STEPS)
def sentences(seed: int, step: int) -> "tuple[Tensor, Tensor, Tensor, Tensor]":
    """Return (ids (b, t), position of "it" (b), id of its noun (b), id of the other noun (b)) of the sentences in one
    step. Step −1 is the test set."""
    import torch

    from clearhead.model.scratch.task import pad_rows
    from clearhead.model.scratch.tasks import resolver

    drawn = grammar.sentences(random.Random(f"short {seed} {step}"), "train" if step >= 0 else "validation")
    source = (each for each in drawn if each.frame == FRAME)
    chosen = [next(source) for _ in range(SIZE if step >= 0 else TESTED)]
    ids = [resolver.encode(each)[0] for each in chosen]
    nouns = [[row[each.places[each.answer]], row[each.places[1 - each.answer]]]
             for row, each in zip(ids, chosen, strict=True)]
    return pad_rows(ids), torch.tensor([each.pronoun for each in chosen]), *torch.tensor(nouns).T


def untrained_model(seed: int) -> "Transformer":
    """Return a small untrained encoder: the wide resolver with d_model 32."""
    from clearhead.model.scratch.tasks import resolver
    from clearhead.model.scratch.transformer import Transformer

    with seeded(seed):
        return Transformer(replace(resolver.TASKS[1].config, d_model=WIDTH, d_ff=2 * WIDTH))


def at_it(model: "Transformer", ids: "Tensor", places: "Tensor") -> "Tensor":
    """Return the logits at "it" (b, word)."""
    return model.output(model.encode(ids)[range(len(ids)), places])


def targets(question: RunQuery, step: int, teacher: "Transformer | None", words: int) -> "Tensor":
    """Return the target distribution at "it", float32 (b, word), which is P in the loss −Σ P ln Q."""
    import torch

    ids, places, nouns, others = sentences(question.seed, step)
    if question.target == "teacher":
        with torch.no_grad():
            return at_it(cast("Transformer", teacher), ids, places).softmax(-1)
    right = others if question.target == "other" else nouns
    moved = moved_share(question.epsilon, words, question.where) if question.target == "smooth" else 0.0
    row = smoothed_target(0, words, moved)
    spread = torch.full((len(right), words), row[1], dtype=torch.float32)
    return spread.scatter(1, right[:, None], float(row[0]))


@lru_cache(maxsize=4)
def trained_plainly(seed: int) -> "Transformer":
    """Return the model of the plain run, which is the teacher in distillation and the start of fine-tuning."""
    return train(RunQuery(seed=seed), untrained_model(seed), None, quiet)[0]


def train(question: RunQuery, model: "Transformer", teacher: "Transformer | None",
          report: Progress) -> "tuple[Transformer, ShortRun]":
    """Train a model and return it with its curves."""
    import torch

    from clearhead.model.scratch.train import update

    adam = torch.optim.Adam(model.parameters(), betas=(0.9, question.beta2), eps=question.adam_epsilon)
    curves, tests = [], [(0, *_test(model, question))]
    with torch.enable_grad():
        for step in range(STEPS):
            ids, places, _, _ = sentences(question.seed, step)
            wanted = targets(question, step, teacher, model.config.vocabulary)
            loss = torch.nn.functional.cross_entropy(at_it(model, ids, places), wanted)
            rate = scaled_rate(step + 1, question.rate, question.warm_up, question.decay)
            length = update(adam, loss, rate, question.clip or math.inf)
            floor = -torch.special.xlogy(wanted, wanted).sum(-1).mean()
            curves.append((loss.item(), abs(floor.item()), length.item()))
            if (step + 1) % EVERY == 0:
                tests.append((step + 1, *_test(model, question)))
            report((step + 1) / STEPS, f"step {step + 1} of {STEPS}: loss {loss.item():.2f} nats")
    return model, ShortRun(*np.array(curves, np.float64).T, *np.array(tests, np.float64).T)


def _test(model: "Transformer", question: RunQuery) -> tuple[float, float]:
    """Return (−ln p of the correct word, accuracy) on held-out sentences."""
    import torch

    ids, places, nouns, others = sentences(0, -1)
    right = others if question.target == "other" else nouns
    with torch.no_grad():
        logits = at_it(model, ids, places)
    return float(torch.nn.functional.cross_entropy(logits, right)), float((logits.argmax(-1) == right).float().mean())


SIGNALS = ("steady", "noisy", "spike", "fading")
DESCENT_STEPS = 400               # length of a signal
SPIKE, AT = 100.0, 100    # size and step of the single large gradient
UNFOLDED = 50             # number of steps of the recurrent unit
WANTED = 0.7              # target output of the recurrent unit
LOW, HIGH = (4.2, -3.4), (6.2, -1.8)   # corners of the drawn plane (weight, bias)


def signal(kind: str) -> np.ndarray:
    """Return a sequence of gradients of one weight, float64 (step): constant 1, noise around 0.1, 1 with a single 100,
    or falling tenfold every 40 steps."""
    if kind == "noisy":
        return 0.1 + np.random.default_rng(1).normal(size=DESCENT_STEPS)
    gradients = np.ones(DESCENT_STEPS) if kind != "fading" else 10.0 ** (-np.arange(DESCENT_STEPS) / 40)
    if kind == "spike":
        gradients[AT] = SPIKE
    return gradients


def adam(gradients: np.ndarray, beta1: float = 0.9, beta2: float = 0.98, epsilon: float = 1e-9) -> np.ndarray:
    """Return Adam's updates in units of the learning rate, m̂ / (√v̂ + ε), float64 (step) (Kingma & Ba 2015, algorithm
    1).

    The defaults are those of Vaswani et al. 2017, section 5.3.
    """
    moves, mean, square = np.zeros(len(gradients)), 0.0, 0.0
    for step, gradient in enumerate(gradients, 1):
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        moves[step - 1] = mean / (1 - beta1**step) / (np.sqrt(square / (1 - beta2**step)) + epsilon)
    return moves


def rate(step: np.ndarray | int, d_model: int, warm_up: int) -> np.ndarray:
    """Compute the learning rate in equation (3) of Vaswani et al. 2017, d_model^-½ · min(step^-½, step · warm_up^-1½),
    for steps from 1. Its peak is (d_model · warm_up)^-½."""
    return d_model**-0.5 * np.minimum(step**-0.5, step * float(warm_up) ** -1.5)


def scaled_rate(step: int, peak: float, warm_up: int, decay: bool) -> float:
    """Return the learning rate of equation (3), rescaled to another peak, for steps from 1. warm_up: 0 for none. decay:
    whether the rate falls after its peak."""
    warm_up = max(1, warm_up)
    return peak * float(warm_up**0.5 * rate(step, 1, warm_up) if decay else min(1.0, step / warm_up))


def clip(gradient: np.ndarray, limit: float) -> np.ndarray:
    """Clip the gradient to the norm `limit` without changing its direction (Pascanu et al. 2013, algorithm 1). limit: 0
    for no clipping."""
    length = np.linalg.norm(gradient)
    return gradient if not limit or length <= limit else gradient * (limit / length)


def cliff(weight: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss (...) and its gradient (..., 2) for one recurrent unit h ← w σ(h) + b after UNFOLDED steps from
    0.5. The loss is the squared difference of σ(h) and WANTED.

    This is the landscape in figure 6 of Pascanu et al. 2013: nearly flat, with a cliff where the unit switches.
    """
    weight, bias = np.broadcast_arrays(weight, bias)
    h, slope = np.full(weight.shape, 0.5), np.zeros((*weight.shape, 2))
    for _ in range(UNFOLDED):
        lit = 1 / (1 + np.exp(-h))
        slope = np.stack([lit, np.ones_like(lit)], -1) + (weight * lit * (1 - lit))[..., None] * slope
        h = weight * lit + bias
    out = 1 / (1 + np.exp(-h))
    return (out - WANTED) ** 2, (2 * (out - WANTED) * out * (1 - out))[..., None] * slope


def landscape() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (weights (x), biases (y), loss (y, x)) for the drawn plane."""
    weights, biases = (np.linspace(low, high, 120) for low, high in zip(LOW, HIGH, strict=True))
    return weights, biases, cliff(weights[None], biases[:, None])[0]


def descend(start: tuple[float, float], limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Run 60 steps of gradient descent without momentum on the cliff, with rate 0.3. Return (points (61, 2), gradient
    norms before clipping (60))."""
    places, lengths = [np.array(start, np.float64)], []
    for _ in range(60):
        gradient = cliff(*places[-1])[1]
        lengths.append(np.linalg.norm(gradient))
        places.append(places[-1] - 0.3 * clip(gradient, limit))
    return np.array(places), np.array(lengths)


TEACHER = "induction"   # the trained decoder; the students are its own earlier snapshots


def steps() -> list[int]:
    """Return the training steps with a snapshot of the teacher, starting with step 0."""
    from clearhead.model.scratch import models

    return models.read_metadata(film_path(weights_file(TEACHER)[0]))["frames"]


def student(step: int) -> str:
    """Return the id of the teacher's snapshot after `step` steps."""
    return f"{TEACHER}{SNAPSHOT}{step}"


def vocabulary() -> tuple[str, ...]:
    """Return the vocabulary (letters and digits) of teacher and students, by id."""
    from clearhead.model.scratch.tasks.induction import WORDS

    return tuple(WORDS)


def one_hot(right: int, words: int) -> np.ndarray:
    """Return the distribution with all probability on one word, such as the next word in a text, float64 (word)."""
    return np.eye(words)[right]


def parts(target: np.ndarray, guess: np.ndarray) -> tuple[float, float, float]:
    """Return (H(target), D_KL(target‖guess), −Σ target ln guess) in nats: the lower bound of the loss, the part that
    learning can remove, and the loss."""
    return float(entropy(target, base=math.e)), float(divergence(target, guess)), float(cross_entropy(target, guess))


def slope(target: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Return ∂loss / ∂logits (word), which is guess − target for every target."""
    return guess - target


def cross_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return −Σ p ln q in nats (...), with 0 ln q = 0: the expected loss of a model q if p is the true distribution.

    Infinite if q is 0 for a word that p contains.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(q, np.float64))
    return -np.multiply(p, logs, out=np.zeros(np.broadcast_shapes(np.shape(p), np.shape(q))),
                        where=np.asarray(p) > 0).sum(-1)


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the Kullback–Leibler divergence D_KL(P‖Q) = Σ p ln(p / q) in nats (...). It is at least 0, and 0 only if
    both are equal. It is not symmetric and therefore not a distance."""
    return np.maximum(cross_entropy(p, q) - entropy(np.asarray(p, np.float64), base=math.e), 0.0)


WHERE = ("others", "all")


def moved_share(epsilon: float, words: int, where: str) -> float:
    """Return the share of the target that leaves the correct word among K = `words`: ε if it is spread over the K − 1
    others (tensor2tensor, the code of the paper), and ε (K − 1) / K over all K (Szegedy et al. 2016, section 7; torch's
    label_smoothing)."""
    return epsilon if where == "others" else epsilon * (words - 1) / words


def smoothed_target(right: int, words: int, epsilon: float) -> np.ndarray:
    """Return the smoothed target for the correct word among K = `words`, float64 (word): 1 − ε for the correct word and
    ε / (K − 1) for each other word. ε: as `moved_share` returns it."""
    target = np.full(words, epsilon / (words - 1))
    target[right] = 1 - epsilon
    return target


def smooth_loss(share: np.ndarray | float, words: int, epsilon: float) -> np.ndarray:
    """Return the smoothed loss in nats (...) of a model that gives the correct word the probability `share` and spreads
    the rest evenly."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.log((1 - share) / (words - 1))
        return -(1 - epsilon) * np.log(share) - (epsilon * rest if epsilon else 0)


def floor(words: int, epsilon: float) -> float:
    """Return the lowest possible loss in nats: the entropy of the smoothed target, −q ln q − (1 − q) ln((1 − q) / (K −
    1)) for q = 1 − ε."""
    return float(entropy(smoothed_target(0, words, epsilon), base=math.e))


def gap(words: int, epsilon: float) -> float:
    """Return the difference between the correct word's logit and the others at the lowest loss; infinite without
    smoothing."""
    return math.log((1 - epsilon) * (words - 1) / epsilon) if epsilon else math.inf
