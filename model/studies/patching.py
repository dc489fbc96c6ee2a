"""Which heads turn the answer when what they put out is taken from another text: questions, answers and the measure.
numpy only.

Activation patching (Vig et al. 2020, "Causal Mediation Analysis"; Geiger et al. 2021, "Causal Abstractions"): one part
of the pass of a text is what it is in the pass of its twin, and the rest of the model goes on from there. What the
answer then does is an effect of that part, and not a correlate. A head that matters only together with others shows
nothing alone; so every layer is patched as a whole too. """
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.core.query import Kind, Query, UserError
from model.core.statistics import cosine
from model.core.types import HeadId, Progress


@dataclass(frozen=True)
class PatchQuery:
    """Every head of one kind patched alone, its output in `first` taken from `second`: answered by `Patched`."""

    first: Query
    second: Query
    kind: Kind

    def __post_init__(self) -> None:
        if self.first.edits or self.second.edits:
            raise UserError("Each head is patched alone, in a pass without other edits; take the edits away.")
        if (self.first.model, self.first.revision) != (self.second.model, self.second.revision):
            raise UserError("A head's output can only be taken from another text of the same model; choose the same "
                            "model for both.")


@dataclass(frozen=True, eq=False)
class PassAnswer:
    """What a model says in one pass. kind: next, mask, target or label, then numbers are logits, float32 (position,
    vocabulary); or vector, then numbers are the sentence vector, float32 (d_model)."""

    kind: str
    positions: tuple[int, ...]
    numbers: np.ndarray


@dataclass(frozen=True, eq=False)
class Patched:
    """All numbers are ln P(second word) − ln P(first word) in nats (logits differ by as much), read at token `place` of
    the first text; for models that answer with a sentence vector its cosine with the second text's, and then there are
    no words and no place.

    words: what the first text is answered with and what the second; where both get the same, that and the first one's
    second best (`same`). plain: of the first text as it is. other: of the second. heads: {(layer, head): with this head
    patched}. layers: {layer: with all its heads}. whole: with all heads of this kind. """

    words: tuple[str, str] | None
    same: bool
    place: int | None
    plain: float
    other: float
    heads: dict[HeadId, float]
    layers: dict[int, float]
    whole: float

    @property
    def nbytes(self) -> int:
        return 200 * (len(self.heads) + len(self.layers))

    @property
    def effects(self) -> dict[HeadId, float]:
        """What each head changes, positive towards the second text's answer."""
        return {place: number - self.plain for place, number in self.heads.items()}

    def share(self, number: float) -> float:
        """How far a number is on the way from the first text (0) to the second (1); NaN where both are the same."""
        return (number - self.plain) / (self.other - self.plain) if self.other != self.plain else float("nan")

    def turns(self, number: float) -> bool:
        """Whether the second text's word is now the more probable of the two, and was not before."""
        return self.words is not None and self.plain < 0 < number

    @property
    def ranked(self) -> list[tuple[int, int, float]]:
        """(layer, head, effect), the largest first, whatever its sign."""
        return sorted(((*place, effect) for place, effect in self.effects.items()),
                      key=lambda each: (-abs(each[2]), each[:2]))


def check_lengths(other: Query, there: int, here: int) -> None:
    """Raises UserError unless both passes have as many tokens on the side that looks."""
    if there != here:
        raise UserError(f"A head's output is taken token by token, and there are {there} tokens in “{other.text[:60]}” "
                        f"and {here} here; "
                        "choose a text of as many tokens.")


def reading(first: PassAnswer, second: PassAnswer) -> tuple[Callable[[PassAnswer], float], tuple[int, int] | None, int | None]:
    """(what is read from an answer, the numbers of the two words, the row of the first's positions that is read).

    A next-token model is read at its last position; any other at the first one where the two texts are answered
    differently, else at the last. """
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
                  again: Callable[[list[list[HeadId]]], Iterator[PassAnswer]],
            name: Callable[[int], str], report: Progress) -> Patched:
    """Every head of `places` alone, every layer, and all of them. again(trials): the first text's answer with the heads
    of each trial patched; name(number): a word of the vocabulary. Raises UserError where there is no answer to read."""
    if min(len(first.numbers), len(second.numbers)) == 0:
        raise UserError("This model answers nothing at this text (no mask, no “it”), so that no answer can turn; "
                        "choose a text that it answers.")
    read, words, row = reading(first, second)
    layers = sorted({layer for layer, _ in places})
    trials = [*([place] for place in places), *([place for place in places if place[0] == layer] for layer in layers),
              list(places)]
    found: list[float] = []
    for answer in again(trials):
        found.append(read(answer))
        report(len(found) / len(trials), f"patched head {min(len(found), len(places))} of {len(places)}")
    return Patched(words and (name(words[0]), name(words[1])), words is not None and _same(first, second, row),
                   None if row is None else
                   first.positions[row], read(first), read(second), dict(zip(places, found)),
                   dict(zip(layers, found[len(places):])), found[-1])


def _same(first: PassAnswer, second: PassAnswer, row: int | None) -> bool:
    return bool(first.numbers[row].argmax() == second.numbers[row].argmax())
