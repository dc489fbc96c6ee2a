"""An answer of a pretrained model that is to be explained: variants of the text in one plain pass, the edit Hide in a
captured one."""
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from model.capture import forward_pass
from model.core.query import Hide, Query, UserError
from model.core.record import Tokens
from model.core.types import KindHeadId, Progress
from model.pretrained import predict
from model.pretrained.inputs import ModelInput, plain_ids, target_tokenizer, tokenize_query
from model.studies.attribution import LONGEST, AttributionQuery
from model.studies.token_removal import ExplainedAnswer, answer_of, first_tokens, last_word, target_word

if TYPE_CHECKING:
    from torch import Tensor


class PretrainedAnswer(ExplainedAnswer):
    """A decoder before a word, a masked-word model at a mask, a sentence model with all its tokens, or an
    encoder–decoder with those of its source. target: the decoder's ids (1, token) up to the word."""

    def __init__(self, opened: Any, query: Query, tokens: Tokens, tensors: "dict[str, Tensor]", place: int | None,
                 target: "Tensor | None" = None) -> None:
        tokenizer = opened.tokenizer
        neutral = next((number for number in (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.eos_token_id)
                        if number is not None), 0)
        super().__init__(query, tokens, tensors, place, neutral)
        self.opened, self.target = opened, target
        if opened.head == "vector" and opened.pooling.mode == "first":
            self.rows = np.eye(len(tokens))[0]
        if target is not None:
            self.rows = np.eye(target.shape[1])[-1]

    def forward(self, tensors: "dict[str, Tensor]", place: int | None) -> "Tensor":
        """The logits (text, vocabulary) at `place`, or the sentence vectors (text, d_model), of a plain pass."""
        if self.target is not None:
            tensors = {**tensors, "decoder_input_ids": self.target.expand(len(tensors["input_ids"]), -1)}
        output = self.opened.network(**tensors, **predict.last_only(self.opened))
        if self.opened.head == "vector":
            return predict.pool(output.last_hidden_state, self.opened.pooling)
        return output.logits[:, place if self.opened.head == "mask" else -1].float()

    def forward_hidden(self, token: int) -> "Tensor":
        """`forward` of the text itself, with this token hidden from every query."""
        session = forward_pass.Session(self.opened.names, self.opened.wiring.slots, frozenset([Hide("source", token)]))
        return forward_pass.run(session, lambda: self.forward(self.tensors, self.place))

    @property
    def embedding_table(self) -> Any:
        """The module that embeds the tokens."""
        network = self.opened.network if self.target is None else self.opened.network.get_encoder()
        return network.get_input_embeddings()

    def output_projection(self, head: KindHeadId, output: np.ndarray) -> Any:
        """The module whose weights are the very numbers of `output` in memory. Raises UserError if there is none."""
        for module in self.opened.network.modules():
            weight = getattr(module, "weight", None)
            if weight is not None and weight.ndim == 2 and np.may_share_memory(weight.detach().numpy(), output):
                return module
        raise UserError(f"{self.opened.card.title} keeps its output matrices in a way that is not known here; choose "
                        f"another model.")


def explained_answer(opened: Any, question: AttributionQuery, report: Progress) -> ExplainedAnswer:
    """The model before this question. Raises UserError for a model that answers with no word and no sentence vector,
    for one that is not verified, and for a long text."""
    title = opened.card.title
    if opened.wiring is None:
        raise UserError(f"{title} only reports its weights and cannot be edited, so that nothing can be held against "
                        f"it; choose a verified model.")
    if opened.head not in ("next", "mask", "target", "vector"):
        raise UserError(f"{title} answers with no word and no sentence vector, so that there is nothing to explain; "
                        f"choose MiniLM, SmolLM2 or BERT.")
    if question.query.edits:
        raise UserError("Tokens are taken away from the model as it is; take the edits away.")
    report(0.0, "reading the text")
    if opened.head == "target":
        explained = _target(opened, question, report)
    else:
        explained = {"next": _next, "mask": _mask, "vector": _vector}[opened.head](opened, question)
    explained.answer = answer_of(explained, opened.head, lambda number: predict.name_of(opened, number))
    return explained


def _tokenize(opened: Any, query: Query) -> ModelInput:
    asked = tokenize_query(opened.network, opened.tokenizer, query, opened.card.max_tokens)
    if len(asked.source) > LONGEST:
        raise UserError(f"Each token is taken away three times, so this page takes texts of at most {LONGEST} tokens "
                        f"and this one has {len(asked.source)}; shorten it.")
    return asked


def _token_at(tokens: Tokens, at: int) -> int | None:
    """The first token of the first text that reaches behind this character."""
    return next((token for token, (_, end) in enumerate(tokens.spans) if end > at and tokens.segments[token] == 0),
                None)


def _next(opened: Any, question: AttributionQuery) -> ExplainedAnswer:
    """The text up to the word; what stands behind it is never seen by a decoder."""
    asked = _tokenize(opened, question.query)
    tokens = asked.source
    at = last_word(tokens, question.query.text) if question.at is None else question.at
    wanted = _token_at(tokens, at)
    last = max(token for token, segment in enumerate(tokens.segments) if segment >= 0)
    place = last if wanted is None else wanted - 1
    tensors = {name: tensor[:, :place + 1] for name, tensor in asked.tensors.items()}
    explained = PretrainedAnswer(opened, question.query, first_tokens(tokens, place + 1), tensors, place)
    explained.ids = _targets(explained, question, None if wanted is None else tokens.ids[wanted])
    return explained


def _mask(opened: Any, question: AttributionQuery) -> ExplainedAnswer:
    """The text with a mask: its own first, or one in the word's place."""
    query, mask = question.query, opened.tokenizer.mask_token_id
    asked, original = _tokenize(opened, query), None
    if mask not in asked.source.ids:
        tokens = asked.source
        at = min(last_word(tokens, query.text), len(query.text) - 1) if question.at is None else question.at
        wanted = _token_at(tokens, at)
        if wanted is None:
            raise UserError("There is no word at that place of the text; click one.")
        (start, end), original = tokens.spans[wanted], tokens.ids[wanted]
        query = replace(query, text=query.text[:start] + opened.tokenizer.mask_token + query.text[end:])
        asked = _tokenize(opened, query)
    if mask not in asked.source.ids:
        raise UserError(f"{opened.card.title} reads no mask in the word's place; choose another word.")
    explained = PretrainedAnswer(opened, query, asked.source, asked.tensors, asked.source.ids.index(mask))
    explained.ids = _targets(explained, question, original)
    return explained


def _vector(opened: Any, question: AttributionQuery) -> ExplainedAnswer:
    """The whole text, beside the vector of the other sentence."""
    import torch

    if not question.other.strip():
        raise UserError("A sentence vector is compared with that of another sentence; type one.")
    asked = _tokenize(opened, question.query)
    explained = PretrainedAnswer(opened, question.query, asked.source, asked.tensors, None)
    with torch.inference_mode():
        other = _tokenize(opened, Query(question.query.model, question.query.revision, question.other))
        vector = explained.forward(other.tensors, None).clone()
    explained.other = torch.tensor(vector.numpy())   # a tensor of inference would not take part in a gradient
    return explained


def _target(opened: Any, question: AttributionQuery, report: Progress) -> ExplainedAnswer:
    """The source, and the target up to the word; a target that the model writes is written once and stays as it is."""
    _tokenize(opened, question.query)
    asked = opened.question(question.query, report)
    wanted = min(max(1, target_word(asked.target) if question.at is None else question.at), len(asked.target))
    ids = asked.tensors["decoder_input_ids"][:, :wanted]
    tensors = {name: tensor for name, tensor in asked.tensors.items() if not name.startswith("decoder")}
    explained = PretrainedAnswer(opened, question.query, asked.source, tensors, None, ids)
    explained.ids = _targets(explained, question, asked.target.ids[wanted] if wanted < len(asked.target) else None)
    return explained


def _targets(explained: PretrainedAnswer, question: AttributionQuery, original: int | None) -> tuple[int, ...]:
    """The ids of word and rival: as typed (the first piece), or the original there, or the model's best."""
    import torch

    if question.word.strip():
        first = _piece(explained.opened, question.word)
    elif original is not None:
        first = original
    else:
        with torch.inference_mode():
            first = int(explained.forward(explained.tensors, explained.place)[0].argmax())
    return (first, _piece(explained.opened, question.rival)) if question.rival.strip() else (first,)


def _piece(opened: Any, word: str) -> int:
    """The first piece of a word as it stands within a text. Raises UserError for one that the vocabulary lacks."""
    tokenizer = target_tokenizer(opened.network, opened.tokenizer)
    ids = plain_ids(opened.tokenizer, f" {word.strip()}")
    ids = [number for number in ids if tokenizer.decode([number]).strip()]
    if not ids or ids[0] == tokenizer.unk_token_id:
        raise UserError(f"“{word}” is unknown to {opened.card.title}; choose another word.")
    return ids[0]
