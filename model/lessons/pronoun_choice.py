"""Locate where our translator decides between "il" and "elle": silence heads, and replace the encoder's output at one
word by its twin's."""
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.models import ModelQuestion, Models, OpenModel
from clearhead.model.core.query import Kind, KindHeadId, Progress, Silence, UserError, frozen, with_arrays
from clearhead.model.studies.predictions import PRONOUNS

if TYPE_CHECKING:
    from torch import Tensor

    from clearhead.model.scratch.models import Translator

WORDS = {   # words whose encoder output is replaced: {name: positions in the English sentence}
    "it": lambda sentence: [sentence.pronoun], "the adjective": lambda sentence: [sentence.adjective],
    "the first noun": lambda sentence: [sentence.places[0]], "the second noun": lambda sentence: [sentence.places[1]],
    "both nouns": lambda sentence: sentence.places, "everything": lambda sentence: range(len(sentence.english)),
}


@frozen
class DecisionQuery(ModelQuestion):
    """What does the pronoun in one translation depend on? The twin, if any, has the same number of words."""

    text: str
    twin: str = ""

    def answer(self, models: Models, report: Progress) -> "Decision":
        """Compute what the pronoun depends on. Raises UserError for any model other than our translator, and for a
        translation without "il" or "elle"."""
        opened = translator_of(models.open(self, report))
        reading = _Reading(opened, self.text)
        attentions = [(slot.kind, slot.index) for slot in opened.wiring.slots.values()] if opened.wiring else []
        count = opened.card.heads
        heads = [(kind, layer, head) for kind, layer in attentions for head in range(count)]
        silenced = {mode: np.array([reading.share([Silence(*head, mode)]) for head in heads], np.float32)
                    for mode in ("zero", "mean")}
        report(0.7, "swapping words with the twin")
        whole = [reading.share([Silence(*attention, head) for head in range(count)]) for attention in attentions]
        twin, patched = None, np.zeros(0, np.float32)
        if self.twin:
            other = _Reading(opened, self.twin)
            twin = reading.share(source=other.source)
            if other.source.shape == reading.source.shape:
                shares = []
                for word in range(reading.source.shape[1]):
                    memory = reading.encoded.clone()
                    memory[:, word] = other.encoded[:, word]
                    shares.append(reading.share(memory=memory))
                patched = np.array(shares, np.float32)
        return Decision(reading.pronoun, reading.share(), twin, tuple(heads), silenced["zero"], silenced["mean"],
                        tuple(attentions), np.array(whole, np.float32), tuple(piece.text for piece in reading.tokens),
                        patched)


@with_arrays
class Decision:
    """What one pronoun depends on. All shares are P(said) / (P(il) + P(elle)) at the position of the pronoun, after the
    same French words."""

    said: str                              # "il" or "elle"
    share: float                           # share without edits
    twin: float | None                     # share of the same pronoun with the twin as source; None without a twin
    heads: tuple[KindHeadId, ...]          # in the order of `zero` and `mean`
    zero: np.ndarray                       # share with each head alone set to 0, float32 (head)
    mean: np.ndarray                       # share with each head alone set to its mean, float32 (head)
    layers: tuple[tuple[Kind, int], ...]   # in the order of `whole`
    whole: np.ndarray                      # share with all heads of a layer silenced, float32 (layer)
    source: tuple[str, ...]                # words of the sentence
    patched: np.ndarray  # share with the encoder's output at one word replaced by the twin's, float32 (word);
    # empty without a twin of the same length


@frozen
class DecisionSetQuery(ModelQuestion):
    """What do the pronouns in many translations depend on? Uses test twins with held-out pairs of nouns."""

    pairs: int = 100

    def answer(self, models: Models, report: Progress) -> "DecisionSet":
        """Compute what the pronouns depend on. Raises UserError for any model other than our translator."""
        from clearhead.model.scratch.head_scores import flip_rate, noun_weights, right_twins
        from clearhead.model.scratch.tasks import translator

        opened = translator_of(models.open(self, report))
        sentences = translator.test_sentences("test", 2 * self.pairs)
        moved = {}
        for number, (name, words) in enumerate(WORDS.items()):
            report(number / (len(WORDS) + 1), f"exchanging {name}")
            moved[name] = flip_rate(opened.network, sentences, translator.batch, words)
        rows = {Kind.SELF: lambda sentence: sentence.pronoun, Kind.CROSS: lambda sentence: sentence.french_pronoun}
        points, answers = {}, np.array([sentence.answer for sentence in sentences])
        for kind, row in rows.items():
            layers = noun_weights(opened.network, sentences, translator.batch, kind, row)
            weights = np.concatenate(list(layers.values()), 1)
            both = right_twins(weights.argmax(-1), answers)   # (layer · head)
            best = int(both.argmax())
            layer, head = divmod(best, opened.card.heads)
            points[kind] = (kind, layer, head), float(both[best]), float(weights[:, best].sum(-1).mean())
        return DecisionSet(moved, points, len(sentences))


@frozen
class DecisionSet:
    """What the choice of the pronoun depends on, over many sentences."""

    # {words: share of sentences whose pronoun changes if the encoder's output at these words is replaced by the
    # twin's}, over twins whose nouns differ in gender
    moved: dict[str, float]
    # {kind: (the head that most often gives the correct noun more weight in both twins, its share of twins, its mean
    # weight on both nouns)}, for the encoder's row of "it" and the cross-attention row that produces the pronoun
    points: dict[Kind, tuple[KindHeadId, float, float]]
    sentences: int   # number of sentences


def translator_of(opened: OpenModel) -> "Translator":
    """Return the model if it is our translator. Raises UserError for any other model, because its choices are not
    understood well enough."""
    from clearhead.model.scratch.models import Translator

    if not isinstance(opened, Translator):
        raise UserError(f"{opened.card.title} is not Clearhead's own translator; choose that to see where il "
                        f"or elle is decided.")
    return opened


class _Reading:
    """A sentence translated up to its pronoun. Computes the pronoun's share with edits or another encoder output."""

    def __init__(self, opened: "Translator", text: str) -> None:
        import torch

        from clearhead.model.scratch.tasks.translator import greedy
        from clearhead.model.scratch.tokens import BEGIN

        self.opened, self.model, number = opened, opened.network, opened.tokenizer.number
        self.tokens = opened.pieces(text, "text")
        self.source = torch.tensor([[piece.id for piece in self.tokens]])
        french = [opened.tokenizer.words[id_] for id_ in greedy(self.model, self.source)[0]]
        places = [place for place, word in enumerate(french) if word in PRONOUNS]
        if not places:
            raise UserError(f"The translation “{' '.join(french)}” contains neither il nor elle; use a sentence with "
                            f"“it” from the vocabulary below.")
        self.pronoun = french[places[-1]]
        self.prefix = torch.tensor([[BEGIN, *map(number, french[:places[-1]])]])
        self.pair = [number(self.pronoun), number(next(word for word in PRONOUNS if word != self.pronoun))]
        with torch.inference_mode():
            self.encoded = self.model.encode(self.source)

    def share(self, silences: Iterable[Silence] = (), memory: "Tensor | None" = None,
              source: "Tensor | None" = None) -> float:
        """Return the pronoun's share. source: another source sentence. memory: another encoder output."""
        from clearhead.model.capture import forward_pass

        source = self.source if source is None else source

        def decode() -> "Tensor":
            encoded = self.model.encode(source) if memory is None else memory
            return self.model.output(self.model.decode(self.prefix, encoded, source)[:, -1])[0, self.pair]

        return float(forward_pass.run(self.opened.session(frozenset(silences), None), decode).softmax(-1)[0])
