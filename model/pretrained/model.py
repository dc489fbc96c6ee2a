"""A loaded model that answers queries: tokens in, one captured forward pass, a record out."""
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from model.capture import forward_pass, verify
from model.core import memory
from model.core.finite import check_finite, largest
from model.core.models import LastVectorsQuery
from model.core.query import Hide, Kind, NoNextWord, Query, UserError, Window, no_last_keys
from model.core.record import AttentionMap, AttentionRecord, Card, Prediction, Verification
from model.core.threads import limited_threads
from model.core.trace import LastVectors, Trace
from model.core.types import HeadId, Progress, Span
from model.pretrained import attribution, patching, perplexity, predict, trace
from model.pretrained.inputs import ModelInput, tokenize_query, with_target
from model.pretrained.recognise import wrong_input
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


@dataclass(frozen=True, eq=False)
class PretrainedModel:
    """A network with its tokenizer and card. Nothing in it changes after it is opened, so it may serve several
    threads."""

    card: Card       # what it is
    network: Any     # of transformers, whose models and tokenizers have no type in common that says what they take
    tokenizer: Any   # of transformers too
    wiring: verify.Wiring | None      # None where the capture cannot follow: reported weights are shown then
    head: str                         # what it predicts: next, mask, target, label, vector or none
    pooling: predict.Pooling | None   # None unless it answers with a sentence vector
    looks_ahead: bool                 # of reported weights: whether they are those of an encoder
    reasons: tuple[str, ...]          # clauses on why pictures are reported and not verified
    names: dict[int, str]             # of the modules, by id(module)
    plan: memory.Plan                 # what the size of an answer depends on

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return sum(weights.numel() * weights.element_size() for weights in self.network.parameters())

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The record of this query. Raises UserError where it cannot be answered, or not be shown without doubt."""
        question = self.question(query, report)
        with self.threads(question):
            if self.wiring is None:
                maps, verification, output = self._reported(question, report)
            else:
                maps, verification, output = self._captured(query, question, self.wiring, report)
        return AttentionRecord(query, self.card, maps, verification, self.prediction(query, question, output),
                               question.omitted, question.notes, question.picture)

    def prediction(self, query: Query, question: ModelInput, output: Any) -> Prediction | None:
        """What the model answers, from the output of the captured pass; None if it predicts nothing."""
        return predict.prediction(self, question, output)

    def threads(self, question: ModelInput) -> AbstractContextManager[None]:
        """As many threads as a pass of this question can use."""
        return limited_threads(self.plan.operations_for(_longest_side(question)))

    def question(self, query: Query, report: Progress) -> ModelInput:
        """The query as the network takes it, with an encoder–decoder's target side. Raises UserError where it cannot be
        asked."""
        report(0.02, "reading the text")
        if query.image is not None:
            raise wrong_input(self.card.title, self.network.config.model_type, type(self.network))
        if query.continuation and self.head != "next":
            raise UserError(f"{self.card.title} does not predict the next word, so there is nothing to continue; "
                            f"choose a decoder such as SmolLM2.")
        question = tokenize_query(self.network, self.tokenizer, query, self.card.max_tokens)
        memory.refuse_what_does_not_fit(self.plan, len(question.source), self.card.title)
        if self.network.config.is_encoder_decoder:
            question = with_target(self.network, self.tokenizer, query, question, self.card.max_tokens, report)
            memory.refuse_what_does_not_fit(self.plan, _longest_side(question), self.card.title)
        self.check_edits(query, question)
        return question

    def next_word(self, query: Query, report: Progress) -> NextWord:
        """All logits of the last position, under the query's edits; without any from a plain pass with the model's own
        kernel. Raises NoNextWord for a model that is no decoder."""
        import torch

        if self.head != "next":
            raise NoNextWord(f"{self.card.title} does not write a next token; choose a decoder, such as SmolLM2.")
        report(0.05, "reading the text")
        question = tokenize_query(self.network, self.tokenizer, query, self.card.max_tokens)
        memory.refuse_what_does_not_fit(self.plan, len(question.source), self.card.title)
        self.check_edits(query, question)
        call = lambda: self.network(**question.tensors, **predict.last_only(self)).logits[0, -1].float()
        if query.edits:
            logits = forward_pass.run(patching.session(self, query, question.lengths), call)
        else:
            with torch.inference_mode():
                logits = call()
        ids = logits.topk(min(NAMED, len(logits))).indices.tolist()
        ends = self.network.generation_config.eos_token_id if self.network.can_generate() else []
        ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
        return NextWord(logits.numpy(), tuple(ids), tuple(predict.text_of(self.tokenizer, number) for number in ids),
                        tuple(ends))

    def log_probability(self, query: Query, span: Span) -> float:
        """ln P of the words at `span`, the mean over their tokens in nats, under the query's edits.

        A next-word model predicts them from what stands before; a masked-word model with all tokens of the span masked
        at once, as Kocijan et al. 2019 (section 2) do. Raises UserError for a model that does neither. """
        import torch

        if self.head not in ("next", "mask"):
            raise UserError(f"{self.card.title} does not say words, so there is no probability to compare; "
                            "choose a next-word or a masked-word model.")
        question = tokenize_query(self.network, self.tokenizer, query, self.card.max_tokens)
        tokens = [token for token, (start, end) in enumerate(question.source.spans)
                  if question.source.segments[token] == 0 and start < span[1] and span[0] < end]
        tensors, before = dict(question.tensors), 0 if self.head == "mask" else 1
        if not tokens or tokens[0] < before:
            raise UserError(f"{self.card.title} has nothing to say {query.text[slice(*span)]!r} from; put words before "
                            f"it, or shorten the text.")
        wanted = torch.tensor([question.source.ids[token] for token in tokens])
        if self.head == "mask":
            masked = tensors["input_ids"].clone()
            masked[0, tokens] = self.tokenizer.mask_token_id
            tensors["input_ids"] = masked
        session = patching.session(self, query, question.lengths)
        output = forward_pass.run(session, lambda: self.network(**tensors))
        logits = output.logits[0, [token - before for token in tokens]].float()
        check_finite("in its answer", logits.max(-1).values.numpy())
        return float(logits.log_softmax(-1)[torch.arange(len(tokens)), wanted].mean())

    def trace(self, query: Query, report: Progress) -> Trace:
        """Everything between the embeddings and the last block of the pass that answers the query. Raises UserError
        where the model is built in a way that cannot be followed."""
        return trace.trace(self, query, report)

    def last_vectors(self, question: LastVectorsQuery, report: Progress) -> LastVectors:
        """What the last block of one kind puts out. Raises UserError as `trace` does."""
        return trace.last_vectors(self, question, report)

    def sequence_likelihood(self, query: Query, report: Progress) -> SequenceLikelihood:
        """The probabilities of the text's tokens from the second on. Raises UserError for what is no decoder."""
        return perplexity.sequence_likelihood(self, query, report)

    def patch_heads(self, question: PatchQuery, report: Progress) -> PatchEffects:
        """Every head of one kind patched. Raises UserError where that cannot be done."""
        return patching.patch_heads(self, question, report)

    def explained_answer(self, question: AttributionQuery, report: Progress) -> ExplainedAnswer:
        """The model with this question put to it. Raises UserError where there is no answer to explain."""
        return attribution.explained_answer(self, question, report)

    def pronoun_decision(self, question: DecisionQuery, report: Progress) -> Decision:
        """Raises UserError: only our translator's choice is known well enough."""
        raise no_translator(self.card)

    def pronoun_decisions(self, question: DecisionSetQuery, report: Progress) -> DecisionSet:
        """Raises UserError as `pronoun_decision` does."""
        raise no_translator(self.card)

    def copying_scores(self, heads: tuple[HeadId, ...]) -> np.ndarray | None:
        """None: they are computed from the weights of models that were trained here."""
        return None

    def _captured(self, query: Query, question: ModelInput, wiring: verify.Wiring, report: Progress
                  ) -> tuple[tuple[AttentionMap, ...], Verification, Any]:
        session = patching.session(self, query, question.lengths, lambda done, text: report(0.05 + 0.85 * done, text))
        output = forward_pass.run(session, lambda: self.network(**question.tensors, **predict.last_only(self)))
        report(0.92, "checking the picture")
        slots = [self._slot(call, wiring) for call in session.calls]
        layers_read = [call.layer(slot.index) for call, slot in zip(session.calls, slots, strict=True)]
        verification = verify.check_answer(session.calls, layers_read, wiring)
        if verification.status == "refused":
            raise UserError(f"{self.card.title} is not shown for this text: {verification.reasons[-1]}, so the picture "
                            f"may be wrong; try another text or model.")
        if self.reasons:   # the picture is this network's, but something in its folder is not applied
            verification = replace(verification, status="reported", reasons=self.reasons)
        members = {kind: tuple(layer for layer, slot in zip(layers_read, slots, strict=True) if slot.kind is kind)
                   for kind in Kind}
        return _maps(members, question), verification, output

    def _slot(self, call: forward_pass.Call, wiring: verify.Wiring) -> forward_pass.Slot:
        slot = wiring.slots.get((call.module, call.occurrence))
        if slot is None:
            raise UserError(f"{self.card.title} used {call.module} in a way that was not seen when it was verified; "
                            f"try another text or model.")
        return slot

    def _reported(self, question: ModelInput,
                  report: Progress) -> tuple[tuple[AttentionMap, ...], Verification, Any]:
        import torch

        report(0.1, "asking the model for its own weights")
        with torch.inference_mode():
            output = self.network(**question.tensors, output_attentions=True)
        try:
            members = verify.layers_of(output, question.lengths, self.looks_ahead)
        except forward_pass.Unsupported as error:
            raise UserError(f"{self.card.title} is not shown for this text: {error}; try another text or "
                            f"model.") from error
        error_of_rows = largest(float(np.abs(layer.weights.sum(-1) - 1).max())
                                for layers in members.values() for layer in layers)
        verification = Verification("reported", row_sum_error=error_of_rows, reasons=self.reasons)
        return _maps(members, question), verification, output

    def check_edits(self, query: Query, question: ModelInput) -> None:
        """Raises UserError for an edit of a head or of a token that is not there."""
        if query.edits and self.wiring is None:
            raise UserError(f"{self.card.title} reports its weights but cannot be edited; choose a verified model.")
        sides = {"source": question.source, "target": question.target}
        for edit in sorted(query.edits, key=repr):
            if isinstance(edit, Hide):
                if edit.token >= len(sides[edit.side] or ()):
                    raise UserError(f"There is no token {edit.token} on the {edit.side} side of this text; hide one "
                                    f"that is shown.")
            elif isinstance(edit, Window):
                if self.wiring is not None and not self.wiring.has(Kind.CAUSAL):
                    raise no_last_keys(self.card.title)
            elif self.wiring is not None and edit.head not in range(self.wiring.heads(edit.kind, edit.layer)):
                raise UserError(f"{self.card.title} has no head {edit.head} in {edit.kind} layer {edit.layer}; choose "
                                f"one that the grid shows.")


def _longest_side(question: ModelInput) -> int:
    return max(length or 0 for length in question.lengths)


def _maps(members: dict[Kind, tuple], question: ModelInput) -> tuple[AttentionMap, ...]:
    source, target = question.source, question.target or question.source
    ends = {Kind.SELF: (source, source), Kind.CAUSAL: (target, target), Kind.CROSS: (target, source)}
    return tuple(AttentionMap(kind, *ends[kind], layers) for kind, layers in members.items() if layers)
