"""Where our translator decides between il and elle: heads silenced, and the encoder's output exchanged word by word
with that of the twin."""
from collections.abc import Iterable

import numpy as np
import torch

from model.core.query import Kind, Silence, UserError
from model.core.types import Progress
from model.scratch import edits, head_analysis
from model.scratch.reader import Reader
from model.scratch.tasks import translator
from model.scratch.tokens import BEGIN
from model.studies.predictions import PRONOUNS, Decision, DecisionQuery, DecisionSet, DecisionSetQuery

WORDS = {   # whose encoder output is exchanged: name -> positions in the English sentence
    "it": lambda sentence: [sentence.pronoun], "the adjective": lambda sentence: [sentence.adjective],
    "the first noun": lambda sentence: [sentence.places[0]], "the second noun": lambda sentence: [sentence.places[1]],
    "both nouns": lambda sentence: sentence.places, "everything": lambda sentence: range(len(sentence.english)),
}


class _Reading:
    """One sentence up to its pronoun: the share of the pronoun that it chooses, under edits and with another encoder
    output."""

    def __init__(self, opened: Reader, text: str) -> None:
        self.model, numbers = opened.transformer, opened.tokenizer.number
        self.tokens = opened.pieces(text, "text")
        self.source = torch.tensor([[piece.id for piece in self.tokens]])
        french = [opened.tokenizer.words[number] for number in translator.greedy(self.model, self.source)[0]]
        places = [place for place, word in enumerate(french) if word in PRONOUNS]
        if not places:
            raise UserError(f"The translation “{' '.join(french)}” has neither il nor elle; use a sentence with “it” "
                            f"of the vocabulary below.")
        self.pronoun = french[places[-1]]
        self.prefix = torch.tensor([[BEGIN, *map(numbers, french[:places[-1]])]])
        self.pair = [numbers(self.pronoun), numbers(next(word for word in PRONOUNS if word != self.pronoun))]

    def encoded(self) -> torch.Tensor:
        with torch.inference_mode():
            return self.model.encode(self.source)

    def share(self, silences: Iterable[Silence] = (), memory: torch.Tensor | None = None,
              source: torch.Tensor | None = None) -> float:
        source = self.source if source is None else source
        with torch.inference_mode(), edits.apply_edits(self.model, tuple(silences)):
            memory = self.model.encode(source) if memory is None else memory
            logits = self.model.output(self.model.decode(self.prefix, memory, source)[:, -1])[0, self.pair]
        return float(logits.softmax(-1)[0])


def decide(question: DecisionQuery, opened: Reader, report: Progress) -> Decision:
    """Where the translator decides in one sentence. Raises UserError for a translation without il or elle."""
    reading = _Reading(opened, question.text)
    places = list(edits.attentions(reading.model))
    heads = [(kind, layer, head) for kind, layer in places for head in range(reading.model.config.heads)]
    silenced = {mode: np.array([reading.share([Silence(*head, mode)]) for head in heads], np.float32)
                for mode in ("zero", "mean")}
    report(0.7, "exchanging words with the twin")
    whole = [reading.share([Silence(*place, head) for head in range(reading.model.config.heads)]) for place in places]
    twin, patched = None, np.zeros(0, np.float32)
    if question.twin:
        other = _Reading(opened, question.twin)
        twin = reading.share(source=other.source)
        if other.source.shape == reading.source.shape:
            memories = _exchanged(reading.encoded(), other.encoded())
            patched = np.array([reading.share(memory=memory) for memory in memories], np.float32)
    return Decision(reading.pronoun, reading.share(), twin, tuple(heads), silenced["zero"], silenced["mean"],
                    tuple(places), np.array(whole, np.float32),
                    tuple(piece.text for piece in reading.tokens), patched)


def _exchanged(own: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
    """The encoder's output (1, k, d_model) with one word at a time taken from the other."""
    outputs = []
    for word in range(own.shape[1]):
        outputs.append(own.clone())
        outputs[-1][:, word] = other[:, word]
    return outputs


def decide_set(question: DecisionSetQuery, opened: Reader, report: Progress) -> DecisionSet:
    """The same over test sentences."""
    sentences = translator.test_sentences("test", 2 * question.pairs)
    moved = {}
    for number, (name, words) in enumerate(WORDS.items()):
        report(number / (len(WORDS) + 1), f"exchanging {name}")
        moved[name] = head_analysis.flip_rate(opened.transformer, sentences, translator.batch, words)
    rows = {Kind.SELF: lambda sentence: sentence.pronoun, Kind.CROSS: lambda sentence: sentence.french_pronoun}
    points = {}
    for kind, row in rows.items():
        weights = head_analysis.noun_weights(opened.transformer, sentences, translator.batch, kind, row)
        pointing = head_analysis.tabulate_pointing(weights, sentences, kind)
        best = max(pointing, key=lambda head: head.both)
        points[kind] = (kind, best.layer, best.head), best.both, best.mass
    return DecisionSet(moved, points, len(sentences))
