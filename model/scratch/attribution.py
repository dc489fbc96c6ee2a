"""An answer of a model of ours that is to be explained: the resolvers' at "it", the induction model's at the next sign,
the translator's at a French word."""

import numpy as np
import torch

from model.core.query import Hide, Query, UserError
from model.core.record import Tokens
from model.core.types import KindHeadId, Progress
from model.scratch import edits
from model.scratch.reader import Reader
from model.scratch.tokens import UNKNOWN
from model.studies.attribution import LONGEST, AttributionQuery
from model.studies.token_removal import ExplainedAnswer, answer_of, first_tokens, last_word, target_word


class ScratchAnswer(ExplainedAnswer):
    """The answer is a difference of two logits, as ln P(word) − ln P(rival) is."""

    def __init__(self, opened: Reader, query: Query, tokens: Tokens, place: int | None,
                 target: tuple[int, ...] = ()) -> None:
        super().__init__(query, tokens, {"input_ids": torch.tensor([tokens.ids])}, place, UNKNOWN)
        self.opened, self.target = opened, torch.tensor([target])
        if target:
            self.rows = np.eye(len(target))[-1]

    def forward(self, tensors: dict[str, torch.Tensor], place: int | None) -> torch.Tensor:
        """Logits (variant, vocabulary)."""
        ids = tensors["input_ids"]
        if place is None:
            return self.opened.transformer(ids, self.target.expand(len(ids), -1))[:, -1]
        return self.opened.transformer(ids)[:, place]

    def forward_hidden(self, token: int) -> torch.Tensor:
        """Logits (1, vocabulary) with one token hidden as key."""
        with edits.apply_edits(self.opened.transformer, {Hide("source", token)}):
            return self.forward(self.tensors, self.place)

    @property
    def embedding_table(self) -> torch.nn.Module:
        """The module of input embeddings."""
        return self.opened.transformer.embedding.table

    def output_projection(self, head: KindHeadId, output: np.ndarray) -> torch.nn.Module:
        """The module of W_O in this head's layer."""
        return edits.attentions(self.opened.transformer)[head[:2]][1].w_output


def explained_answer(opened: Reader, question: AttributionQuery, report: Progress) -> ExplainedAnswer:
    """The model with this question put to it. Raises UserError for the untrained model, a text without "it", and one of
    more than LONGEST tokens."""
    if opened.says == "none":
        raise UserError(f"{opened.card.title} answers nothing, so that there is nothing to explain; choose a trained "
                        f"model.")
    if opened.transformer.config.patch:
        raise UserError(f"{opened.card.title} reads pictures, and this page takes words away; choose a model of "
                        f"texts.")
    if question.query.edits:
        raise UserError("Tokens are taken away from the model as it is; take the edits away.")
    sides = opened.sides(question.query)[0]
    tokens = sides["source"]
    if len(tokens) > LONGEST:
        raise UserError(f"Each token is taken away three times, so this page takes texts of at most {LONGEST} tokens "
                        f"and this one has {len(tokens)}; shorten it.")
    if opened.says == "target":
        explained, standing = _french(opened, question, sides)
    elif opened.says == "label":
        explained, standing = _pronoun(opened, question, tokens)
    else:
        explained, standing = _sign(opened, question, tokens)
    explained.ids = _targets(explained, question, standing)
    explained.answer = answer_of(explained, opened.says, lambda number: opened.tokenizer.words[number])
    return explained


def _pronoun(opened: Reader, question: AttributionQuery, tokens: Tokens) -> tuple[ScratchAnswer, None]:
    places = opened.positions({"source": tokens})
    if not places:
        raise UserError('There is no "it" in this text, so there is nothing to resolve; type a sentence of the '
                        'model\'s words with "it".')
    chosen = [place for place in places if question.at is None or tokens.spans[place][1] > question.at]
    return ScratchAnswer(opened, question.query, tokens,
                          (chosen or places)[0 if question.at is not None else -1]), None


def _sign(opened: Reader, question: AttributionQuery, tokens: Tokens) -> tuple[ScratchAnswer, int | None]:
    at = last_word(tokens, question.query.text) if question.at is None else question.at
    wanted = next((token for token, (_, end) in enumerate(tokens.spans) if end > at and not tokens.special[token]),
                  len(tokens))
    explained = ScratchAnswer(opened, question.query, first_tokens(tokens, wanted), wanted - 1)
    return explained, tokens.ids[wanted] if wanted < len(tokens) else None


def _french(opened: Reader, question: AttributionQuery,
            sides: dict[str, Tokens]) -> tuple[ScratchAnswer, int | None]:
    """The word that is asked for, il or elle where the translation has one; the French before it stays as it is."""
    target = sides["target"]
    wanted = min(max(1, target_word(target) if question.at is None else question.at), len(target))
    explained = ScratchAnswer(opened, question.query, sides["source"], None, target.ids[:wanted])
    return explained, target.ids[wanted] if wanted < len(target) else None


def _targets(explained: ScratchAnswer, question: AttributionQuery, standing: int | None) -> tuple[int, int]:
    """Word and rival: as typed, or what stands there, or the model's best; and the most probable of all others."""
    with torch.inference_mode():
        best = explained.forward(explained.tensors, explained.place)[0].topk(2).indices.tolist()
    word = best[0] if standing is None else standing
    if question.word.strip():
        word = _number(explained.opened, question.word)
    if question.rival.strip():
        return word, _number(explained.opened, question.rival)
    return word, next(other for other in best if other != word)


def _number(opened: Reader, word: str) -> int:
    words = opened.tokenizer.words
    number = next((number for number, known in enumerate(words) if known == word.strip()), None)
    if number is None:
        raise UserError(f"“{word}” is not in the vocabulary of {opened.card.title}; choose one of its words.")
    return number
