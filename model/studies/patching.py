"""Which heads change the answer when their output is taken from another text.

Activation patching (Vig et al. 2020, "Causal Mediation Analysis"; Geiger et al. 2021, "Causal Abstractions"): one part
of the pass of a text is what it is in the pass of its twin, and the rest of the model goes on from there. What the
answer then does is an effect of that part, and not a correlate. A head that matters only together with others shows
nothing alone; so every layer is patched as a whole too. """
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core import heads
from model.core.models import Models, OpenModel, PassAnswer, check_lengths
from model.core.query import HeadId, Kind, Progress, Query, UserError
from model.core.statistics import cosine

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
        """Return what each patch does. Raises UserError for texts of different lengths and where nothing is
        answered."""
        return patch_heads(models.open(self.first, report), self, report)


TOKENS = 256   # of all rows of a pass in which several heads are patched, each in a row of its own
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
        """Return one row a head: number, with this head patched, and effect, what that changes, positive towards the
        second text's answer; both in nats, or cosines."""
        return heads.head_frame(self.heads, {"number": self.patched, "effect": self.patched - self.plain})

    def share(self, number: float) -> float:
        """Return how far a number is on the way from the first text (0) to the second (1); NaN where both are the
        same."""
        return (number - self.plain) / (self.other - self.plain) if self.other != self.plain else float("nan")

    def turns(self, number: float) -> bool:
        """Return whether the second text's word is now the more probable of the two, and was not before."""
        return self.words is not None and self.plain < 0 < number


def measure_of(first: PassAnswer, second: PassAnswer) -> tuple[Measure, tuple[int, int] | None, int | None]:
    """Return (the measure of an answer, the ids of the two words, the row of the positions that it is taken at).

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


def patch_heads(opened: OpenModel, question: PatchQuery, report: Progress) -> PatchEffects:
    """Return every head of one kind patched alone, every layer, and all of them. Raises UserError for texts of
    different lengths, and for a model that answers nothing."""
    asked, other = opened.tokens(question.first), opened.tokens(question.second)
    if (asked.picture is None) != (other.picture is None):
        raise UserError("A head's output can only be taken from a question of the same sort; compare two pictures or "
                        "two texts.")
    plain, taken = opened.run(asked), opened.run(other)
    first, second = plain.answer(0), taken.answer(0)
    outputs = {layer: taken.heads[kind, layer] for kind, layer in sorted(taken.heads) if kind is question.kind}
    if not outputs:
        raise UserError(f"{opened.card.title} has no {question.kind} attention that can be patched here; choose a kind "
                        f"that the page offers, or a verified model.")
    if (question.kind, min(outputs)) not in plain.heads:
        raise UserError("Only one of the two texts has a target; give one to both.")
    looking = len(next(iter(outputs.values())))
    check_lengths(question.second, looking, len(plain.heads[question.kind, min(outputs)]))
    if min(len(first.numbers), len(second.numbers)) == 0:
        raise UserError("This model answers nothing at this text (no mask, no “it”), so that no answer can turn; "
                        "choose a text that it answers.")
    measure, words, row = measure_of(first, second)
    heads = [(layer, head) for layer, mixed in outputs.items() for head in range(mixed.shape[1])]
    trials = [*([head] for head in heads), *([head for head in heads if head[0] == layer] for layer in outputs), heads]
    size, numbers = max(1, TOKENS // max(looking, len(asked.source))), []
    for start in range(0, len(trials), size):
        report(start / len(trials), f"patched head {min(start, len(heads))} of {len(heads)}")
        rows = [{(question.kind, layer, head): outputs[layer][:, head] for layer, head in chosen}
                for chosen in trials[start:start + size]]
        patched = opened.run(asked, rows=rows)
        numbers += [measure(patched.answer(number)) for number in range(len(rows))]
    name = opened.vocabulary.name
    return PatchEffects(words and (name(words[0]), name(words[1])),
                        words is not None and bool(first.numbers[row].argmax() == second.numbers[row].argmax()),
                        None if row is None else first.positions[row], measure(first), measure(second), tuple(heads),
                        np.array(numbers[:len(heads)]), dict(zip(outputs, numbers[len(heads):])), numbers[-1])
