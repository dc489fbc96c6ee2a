"""One loss, three targets: what a small decoder should say next, by the text, by a larger model, or by somebody's
wish."""
import math

import numpy as np

from model.core.statistics import entropy
from model.lessons.divergence import cross_entropy, divergence
from model.studies.next_token import distribution

TEACHER = "induction"   # the trained decoder; its students are its own snapshots on the way


def steps() -> list[int]:
    """The steps of training at which the teacher was photographed, the first untrained."""
    from model.scratch import weights
    from model.scratch.catalogue import film_path, weights_file

    return weights.read_metadata(film_path(weights_file(TEACHER)[0]))["frames"]


def student(step: int) -> str:
    """The id of the teacher as it was after `step` steps."""
    from model.scratch.catalogue import SNAPSHOT

    return f"{TEACHER}{SNAPSHOT}{step}"


def number(sign: str) -> int | None:
    """The id of a sign in their common vocabulary, None for one that is not in it."""
    from model.scratch.tasks.induction import WORDS

    return WORDS.index(sign) if len(sign) == 1 and sign in WORDS else None


def signs(numbers: list[int]) -> list[str]:
    """The signs that have these ids."""
    from model.scratch.tasks.induction import WORDS

    return [WORDS[each] for each in numbers]


def one_hot(right: int, words: int) -> np.ndarray:
    """All probability on one word, float64 (word): what a text says comes next."""
    probabilities = np.zeros(words)
    probabilities[right] = 1
    return probabilities


def soften(logits: np.ndarray, temperature: float) -> np.ndarray:
    """What a teacher says at a temperature, float64 (word): softmax(z / T), Hinton, Vinyals and Dean 2015."""
    return distribution(logits, temperature)


def parts(target: np.ndarray, guess: np.ndarray) -> tuple[float, float, float]:
    """(H(target), D_KL(target‖guess), −Σ target ln guess), nats: the floor, what learning can take away, the loss."""
    return float(entropy(target, base=math.e)), float(divergence(target, guess)), float(cross_entropy(target, guess))


def slope(target: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """∂loss / ∂logits (word) = guess − target: the same formula for every target."""
    return guess - target
