"""Our models: how each reads a question and what it answers, and the studies that all of them can be put to."""
from dataclasses import replace

import numpy as np
import torch

from model.core.models import LastVectorsQuery
from model.core.query import NoNextWord, Query, UserError
from model.core.record import Omission, Tokens
from model.core.trace import LastVectors, Trace
from model.core.types import HeadId, Progress, Span
from model.scratch import attribution, edits, head_scores, patching, perplexity, pronoun_choice, trace
from model.scratch import tokens as scratch_tokens
from model.scratch.reader import Reader, Sides
from model.studies.attribution import AttributionQuery
from model.studies.patching import PatchEffects, PatchQuery
from model.studies.predictions import (
    NAMED,
    Decision,
    DecisionQuery,
    DecisionSet,
    DecisionSetQuery,
    NextWord,
    SequenceLikelihood,
    no_translator,
)
from model.studies.token_removal import ExplainedAnswer


class ScratchModel(Reader):
    """The untrained encoder–decoder, and all that our models answer: `model.core.models.OpenModel` says what each
    method gives."""

    def trace(self, query: Query, report: Progress) -> Trace:
        """The trace of the pass that answers the query."""
        return trace.trace(self, query, report)

    def last_vectors(self, question: LastVectorsQuery, report: Progress) -> LastVectors:
        """What the last block of one kind puts out. Raises UserError for a kind that the pass has not."""
        return trace.last_vectors(self, question, report)

    def next_word(self, query: Query, report: Progress) -> NextWord:
        """Raises NoNextWord: only the decoders and the translator write."""
        raise NoNextWord("This model from scratch does not write a next token of a text; choose a decoder, such as "
                         "SmolLM2.")

    def log_probability(self, query: Query, span: Span) -> float:
        """Raises UserError: our models read few words, so that no two can be compared in any place."""
        raise UserError(f"{self.card.title} does not say words, so there is no probability to compare; choose a "
                        f"next-word or a masked-word model.")

    def sequence_likelihood(self, query: Query, report: Progress) -> SequenceLikelihood:
        """The probabilities of the target or the text. Raises UserError for an encoder."""
        return perplexity.sequence_likelihood(self, query, report)

    def patch_heads(self, question: PatchQuery, report: Progress) -> PatchEffects:
        """Every head of one kind patched. Raises UserError where that cannot be done."""
        return patching.patch_heads(self, question, report)

    def explained_answer(self, question: AttributionQuery, report: Progress) -> ExplainedAnswer:
        """The model with this question put to it. Raises UserError where there is no answer to explain."""
        return attribution.explained_answer(self, question, report)

    def pronoun_decision(self, question: DecisionQuery, report: Progress) -> Decision:
        """Raises UserError for another model than our translator."""
        raise no_translator(self.card)

    def pronoun_decisions(self, question: DecisionSetQuery, report: Progress) -> DecisionSet:
        """Raises UserError for another model than our translator."""
        raise no_translator(self.card)

    def copying_scores(self, heads: tuple[HeadId, ...]) -> np.ndarray | None:
        """Of the heads of a decoder, float64 (head)."""
        return head_scores.copying(self, heads)


class Resolver(ScratchModel):
    """One text; at each "it" the noun that it stands for."""

    says = "label"

    def sides(self, query: Query) -> tuple[Sides, Omission | None, tuple[str, ...]]:
        """The tokens of the text. Raises UserError for a second side."""
        self.refuse(query, "text_b", "target", "continuation")
        sides, omitted, _ = super().sides(query)
        return sides, omitted, () if self.positions(sides) else ('There is no "it" in this text, so there is nothing '
                                                                 'to resolve.',)

    def positions(self, sides: Sides) -> list[int]:
        """Every "it"."""
        return [i for i, text in enumerate(sides["source"].texts) if text.lower() == "it"]


class Induction(ScratchModel):
    """One text of single signs, and at each the sign that follows."""

    says = "next"

    def sides(self, query: Query) -> tuple[Sides, Omission | None, tuple[str, ...]]:
        """The tokens of [BOS], text and continuation."""
        self.refuse(query, "text_b", "target")
        fitting, omitted = self.fit([scratch_tokens.special("[BOS]", scratch_tokens.BEGIN, 0),
                                     *self.pieces(query.text, "text"),
                                     *self.continued(query.continuation, len(query.text))], query.text)
        return {"source": scratch_tokens.tokens(fitting)}, omitted, ()

    def continued(self, ids: tuple[int, ...], place: int) -> list[scratch_tokens.Piece]:
        """Pieces for generated ids. Raises UserError for an id that the vocabulary lacks."""
        words = self.tokenizer.words
        if any(not 0 <= i < len(words) for i in ids):
            raise UserError(f"A continuation of {self.card.title} holds numbers from 0 to {len(words) - 1}; start "
                            f"again from the text.")
        return [scratch_tokens.Piece(words[i], i, (place, place), unknown=i == scratch_tokens.UNKNOWN) for i in ids]

    def positions(self, sides: Sides) -> list[int]:
        """Every token."""
        return list(range(len(sides["source"])))

    def next_word(self, query: Query, report: Progress) -> NextWord:
        """All logits after the text and its continuation."""
        sides, _, _ = self.sides(query)
        logits, _ = self.run(query, sides, report)
        ids = tuple(logits[-1].topk(min(NAMED, len(self.tokenizer.words))).indices.tolist())
        return NextWord(logits[-1].numpy(), ids, tuple(self.tokenizer.words[i] for i in ids), ())


class Stories(Induction):
    """One text of words, and at each the word that follows; [EOS] ends a story."""

    def next_word(self, query: Query, report: Progress) -> NextWord:
        """All logits after the text and its continuation."""
        return replace(super().next_word(query, report), ends=(scratch_tokens.END,))


class Translator(Induction):
    """An English text and its French: the one given, or the model's own, word by word the most probable."""

    says = "target"

    def sides(self, query: Query) -> tuple[Sides, Omission | None, tuple[str, ...]]:
        """The tokens of source and target, of which the second is the model's own where none is given."""
        self.refuse(query, "text_b")
        fitting, omitted = self.fit(self.pieces(query.text, "text"), query.text)
        source = scratch_tokens.tokens(fitting)
        pieces = [scratch_tokens.special("[BOS]", scratch_tokens.BEGIN, 0)]
        if query.target is not None:
            pieces += self.pieces(query.target, "target")
        if query.target is None and not query.continuation:
            pieces += self.continued(self.decoded(source, query), 0)
        target, notes = self.target(pieces + self.continued(query.continuation, len(query.target or "")))
        return {"source": source, "target": target}, omitted, notes

    def decoded(self, source: Tokens, query: Query) -> tuple[int, ...]:
        """Greedy decoding with the question's edits in place, as ids."""
        from model.scratch.tasks.translator import greedy

        edits.check(self.transformer, {edit for edit in query.edits if getattr(edit, "side", "source") == "source"},
                    {"source": len(source)})
        with self.threads({"source": source}), edits.apply_edits(self.transformer, query.edits, self.taken(query)):
            return tuple(greedy(self.transformer, torch.tensor([source.ids]))[0])

    def positions(self, sides: Sides) -> list[int]:
        """Every token of the target."""
        return list(range(len(sides["target"])))

    def pronoun_decision(self, question: DecisionQuery, report: Progress) -> Decision:
        """Where it decides between il and elle. Raises UserError for a translation without either."""
        return pronoun_choice.decide(question, self, report)

    def pronoun_decisions(self, question: DecisionSetQuery, report: Progress) -> DecisionSet:
        """The same over test sentences."""
        return pronoun_choice.decide_set(question, self, report)
