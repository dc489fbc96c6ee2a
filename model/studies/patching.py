"""Which heads change the answer when their output is taken from another text: questions, answers and the measure.
numpy and pandas only.

Activation patching (Vig et al. 2020, "Causal Mediation Analysis"; Geiger et al. 2021, "Causal Abstractions"): one part
of the pass of a text is what it is in the pass of its twin, and the rest of the model goes on from there. What the
answer then does is an effect of that part, and not a correlate. A head that matters only together with others shows
nothing alone; so every layer is patched as a whole too. """
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core import measures
from model.core.finite import check_finite
from model.core.models import Models
from model.core.query import Kind, Query, UserError
from model.core.statistics import cosine
from model.core.types import HeadId, Progress

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class PatchQuery:
    """Every head of one kind patched alone, its output in `first` taken from `second`."""

    first: Query
    second: Query
    kind: Kind

    def __post_init__(self) -> None:
        if self.first.edits or self.second.edits:
            raise UserError("Each head is patched alone, in a pass without other edits; take the edits away.")
        if (self.first.model, self.first.revision) != (self.second.model, self.second.revision):
            raise UserError("A head's output can only be taken from another text of the same model; choose the same "
                            "model for both.")

    def answer(self, models: Models, report: Progress) -> "PatchEffects":
        """What each patch does. Raises UserError for texts of different lengths and where nothing is answered."""
        return models.open(self.first, report).patch_heads(self, report)


@dataclass(frozen=True, eq=False)
class PassAnswer:
    """What a model says in one pass."""

    kind: str                    # next, mask, target, label or vector
    positions: tuple[int, ...]   # of the tokens at which it answers
    numbers: np.ndarray          # logits, float32 (position, vocabulary), or the sentence vector, float32 (d_model)

    def __post_init__(self) -> None:
        check_finite("in its answer", self.numbers.max(-1))   # a logit of −∞ is a word that is never said


Measure = Callable[[PassAnswer], float]


@dataclass(frozen=True, eq=False)
class PatchEffects:
    """What each head's patch does to the answer. A number is ln P(second word) − ln P(first word) in nats at one token
    of the first text, or, for a model that answers with a sentence vector, its cosine with the second text's."""

    words: tuple[str, str] | None   # what the first text is answered with, and the second; None for a vector
    same: bool                      # whether both get the same word; the second word is then the first text's next best
    place: int | None               # the token of the first text; None for a vector
    plain: float                    # the number of the first text as it is
    other: float                    # the number of the second text
    heads: tuple[HeadId, ...]       # in the order of the array
    patched: np.ndarray             # with this head patched, float64 (head)
    layers: dict[int, float]        # {layer: with all its heads patched}
    whole: float                    # with all heads of this kind patched

    def frame(self) -> "DataFrame":
        """One row a head: number, with this head patched, and effect, what that changes, positive towards the second
        text's answer; both in nats, or cosines."""
        return measures.head_frame(self.heads, {"number": self.patched, "effect": self.patched - self.plain})

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.patched.nbytes

    def share(self, number: float) -> float:
        """How far a number is on the way from the first text (0) to the second (1); NaN where both are the same."""
        return (number - self.plain) / (self.other - self.plain) if self.other != self.plain else float("nan")

    def turns(self, number: float) -> bool:
        """Whether the second text's word is now the more probable of the two, and was not before."""
        return self.words is not None and self.plain < 0 < number


def check_lengths(other: Query, there: int, here: int) -> None:
    """Raises UserError unless both passes have as many tokens on the side that looks."""
    if there != here:
        raise UserError(f"A head's output is taken token by token, and there are {there} tokens in “{other.text[:60]}” "
                        f"and {here} here; choose a text of as many tokens.")


def measure_of(first: PassAnswer, second: PassAnswer) -> tuple[Measure, tuple[int, int] | None, int | None]:
    """(the measure of an answer, the ids of the two words, the row of the positions that it is taken at).

    The row is a next-token model's last, and any other's first one where the two texts are answered differently, else
    the last.
    """
    if first.kind == "vector":
        return lambda answer: cosine(answer.numbers, second.numbers), None, None
    rows = list(range(min(len(first.positions), len(second.positions))))
    best = [(int(first.numbers[row].argmax()), int(second.numbers[row].argmax())) for row in rows]
    row = rows[-1] if first.kind == "next" else next((row for row in rows if best[row][0] != best[row][1]), rows[-1])
    one, other = best[row]
    if one == other:
        other = int(np.argsort(first.numbers[row])[-2])
    return lambda answer: float(answer.numbers[row, other]) - float(answer.numbers[row, one]), (one, other), row


def patch_effects(first: PassAnswer, second: PassAnswer, places: Sequence[HeadId],
                  again: Callable[[list[list[HeadId]]], Iterator[PassAnswer]], name: Callable[[int], str],
                  report: Progress) -> PatchEffects:
    """Every head of `places` patched alone, every layer, and all of them.

    again(trials): the first text's answer with the heads of each trial patched; name(id): a word of the vocabulary.
    Raises UserError where the model answers nothing.
    """
    if min(len(first.numbers), len(second.numbers)) == 0:
        raise UserError("This model answers nothing at this text (no mask, no “it”), so that no answer can turn; "
                        "choose a text that it answers.")
    measure, words, row = measure_of(first, second)
    layers = sorted({layer for layer, _ in places})
    trials = [*([head] for head in places), *([head for head in places if head[0] == layer] for layer in layers),
              list(places)]
    numbers: list[float] = []
    for answer in again(trials):
        numbers.append(measure(answer))
        report(len(numbers) / len(trials), f"patched head {min(len(numbers), len(places))} of {len(places)}")
    return PatchEffects(words and (name(words[0]), name(words[1])),
                   words is not None and bool(first.numbers[row].argmax() == second.numbers[row].argmax()),
                   None if row is None else first.positions[row], measure(first), measure(second),
                   tuple(places), np.array(numbers[:len(places)]), dict(zip(layers, numbers[len(places):])),
                   numbers[-1])
