"""Find the heads that change the answer when their output is taken from another text.

In activation patching (Vig et al. 2020, "Causal Mediation Analysis"; Geiger et al. 2021, "Causal Abstractions"), the
value of one component is replaced by its value for another text, and the rest of the model is recomputed. The change in
the answer is a causal effect of that component. Heads that only matter jointly show no effect alone, so whole layers
are patched too.
"""
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import Models, PassAnswer, check_lengths
from clearhead.model.core.query import (
    HeadId,
    Kind,
    Progress,
    Query,
    UserError,
    batches,
    check_same_model,
    frozen,
    with_arrays,
)
from clearhead.model.core.statistics import cosine

if TYPE_CHECKING:
    from pandas import DataFrame


@frozen
class PatchQuery:
    """How does the answer to `first` change if a head's output is taken from `second`? Patches every head alone, each
    text with its own edits."""

    first: Query
    second: Query
    kind: Kind

    def __post_init__(self) -> None:
        check_same_model(self.first, self.second)

    def answer(self, models: Models, report: Progress) -> "PatchEffects":
        """Compute each patch's effect. Raises UserError if the texts differ in length or the model has no answer."""
        opened = models.open(self.first, report)
        asked, other = opened.tokens(self.first), opened.tokens(self.second)
        plain, taken = opened.run(asked, self.first.edits), opened.run(other, self.second.edits)
        first, second = plain.answer(0), taken.answer(0)
        outputs = {layer: taken.heads[kind, layer] for kind, layer in sorted(taken.heads) if kind is self.kind}
        here = plain.heads.get((self.kind, min(outputs, default=0)))
        if here is None or not outputs:
            raise UserError(f"{opened.card.title} has no {self.kind} attention in both texts that can be patched here; "
                            f"give both a target or neither, choose another kind, or choose a verified model.")
        check_lengths(self.second, len(outputs[min(outputs)]), len(here))
        if not (len(first.numbers) and len(second.numbers)):
            raise UserError("This model has no answer to this text (no mask, no “it”) that could change; "
                            "choose a text with one.")
        measure, words, row = measure_of(first, second)
        heads = [(layer, head) for layer, mixed in outputs.items() for head in range(mixed.shape[1])]
        trials = [*([head] for head in heads), *([head for head in heads if head[0] == layer] for layer in outputs),
                  heads]
        size, numbers = max(1, TOKENS // max(len(here), len(asked.source))), list[float]()
        for rows in batches([{(self.kind, layer, head): outputs[layer][:, head] for layer, head in chosen}
                             for chosen in trials], size, report, "patch"):
            patched = opened.run(asked, self.first.edits, rows=rows)
            numbers += [measure(patched.answer(number)) for number in range(len(rows))]
        name = opened.vocabulary.name
        return PatchEffects(words and (name(words[0]), name(words[1])),
                            words is not None and bool(first.numbers[row].argmax() == second.numbers[row].argmax()),
                            None if row is None else first.positions[row], measure(first), measure(second),
                            tuple(heads), np.array(numbers[:len(heads)]), dict(zip(outputs, numbers[len(heads):])),
                            numbers[-1])


TOKENS = 256   # maximum number of tokens in all rows of a pass; each row has one head patched
Measure = Callable[[PassAnswer], float]


@with_arrays
class PatchEffects:
    """The effect of each head's patch on the answer. The metric is ln P(second word) − ln P(first word) in nats at one
    token of the first text. For a model that returns a sentence vector, it is the cosine with the second text's
    vector."""

    words: tuple[str, str] | None   # the answers to the first and to the second text; None for vectors
    same: bool  # whether both texts have the same answer; the second word is then the first text's runner-up
    place: int | None               # position in the first text; None for vectors
    plain: float                    # metric of the unpatched first text
    other: float                    # metric of the second text
    heads: tuple[HeadId, ...]       # in the order of the array
    patched: np.ndarray             # metric with this head patched, float64 (head)
    layers: dict[int, float]        # {layer: metric with all its heads patched}
    whole: float                    # metric with all heads of this kind patched

    def frame(self) -> "DataFrame":
        """Return one row per head: number (the metric with this head patched) and effect (its change). A positive
        effect favours the second text's answer."""
        return heads.head_frame(self.heads, {"number": self.patched, "effect": self.patched - self.plain})

    def share(self, number: float) -> float:
        """Rescale a metric such that the first text is 0 and the second 1; NaN if they are equal."""
        return (number - self.plain) / (self.other - self.plain) if self.other != self.plain else float("nan")

    def turns(self, number: float) -> bool:
        """Return whether patching makes the second text's word more probable than the first's."""
        return self.words is not None and self.plain < 0 < number


def measure_of(first: PassAnswer, second: PassAnswer) -> tuple[Measure, tuple[int, int] | None, int | None]:
    """Return (metric of an answer, ids of the two words, row of the answer to use).

    For a next-token model, the row is the last one. For others, it is the first one at which the answers to the two
    texts differ, or else the last.
    """
    if first.kind == "vector":
        return lambda answer: cosine(answer.numbers, second.numbers), None, None
    best = [*zip(first.numbers.argmax(-1).tolist(), second.numbers.argmax(-1).tolist(), strict=False)]
    differ = [row for row, (one, other) in enumerate(best) if one != other]
    row = differ[0] if differ and first.kind != "next" else len(best) - 1
    one, other = best[row]
    if one == other:
        other = int(np.argsort(first.numbers[row])[-2])
    return lambda answer: float(answer.numbers[row, other]) - float(answer.numbers[row, one]), (one, other), row
