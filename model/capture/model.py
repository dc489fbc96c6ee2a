"""Behaviour shared by all networks, ours and those of transformers: turn tokens into a record with one captured forward
pass."""
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from clearhead.model.capture import forward_pass, trace, verify
from clearhead.model.capture.transformers_internals import mixers
from clearhead.model.core import memory
from clearhead.model.core.models import ModelInput, Pass, PassAnswer, Vocabulary, check_lengths
from clearhead.model.core.query import (
    Edit,
    Hide,
    Kind,
    KindHeadId,
    Patch,
    Progress,
    Query,
    UserError,
    Window,
    no_last_keys,
    quiet,
    with_arrays,
)
from clearhead.model.core.record import (
    CANDIDATES,
    AttentionMap,
    AttentionRecord,
    Card,
    Prediction,
    Verification,
    tensor_of,
)
from clearhead.model.core.torch_runs import limited_threads
from clearhead.model.core.traces import Trace

if TYPE_CHECKING:
    from torch import Tensor


SIGNED = ("Each head of this model is a pair whose second softmax is subtracted. Weights can be negative: they then "
          "rank last, thumbnails show their size, and measures that need weights from 0 (entropy, distance, fits, "
          "rollout and flow) are left out.")
HIDDEN = ("Layers that mix tokens without softmax attention, such as Mamba or convolutions, still read the tokens that "
          "the edit takes from attention.")


@with_arrays
class NetworkModel:
    """A network and its card. Immutable once opened, so several threads may share it.

    Subclasses define how to tokenize a query (`tokens`), how to call the network (`call`), and how to read its answer
    (`outputs`, `answer`, `prediction`); everything else is shared.
    """

    card: Card                        # description of the model
    network: Any                      # a torch module
    tokenizer: Any                    # one of transformers' classes, or our own
    # None if the model cannot be captured; it is then shown with its reported weights
    wiring: verify.Wiring | None
    task: str                         # kind of prediction: next, mask, target, label, vector or none
    reasons: tuple[str, ...]          # clauses on why its attention is reported but not verified
    names: dict[int, str]             # module names, by id(module)
    plan: memory.Plan                 # sizes that determine an answer's memory and time

    ours = False                      # whether it is our own Transformer with a small vocabulary

    @property
    def nbytes(self) -> int:
        """Size of the weights in bytes."""
        return sum(weights.numel() * weights.element_size() for weights in self.network.parameters())

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of attention that can be edited; none if the model only reports its weights."""
        return frozenset(slot.kind for slot in self.wiring.slots.values()) if self.wiring else frozenset()

    @property
    def vector_of(self) -> str:
        """How the sentence vector is formed: "mean" of all tokens, or "first" token."""
        return "mean"

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that the model can answer with."""
        raise NotImplementedError

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as the network's input. Raises UserError if the model cannot answer it."""
        raise NotImplementedError

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return at most this many ids with which the model continues the query greedily, or its target, an end token
        included."""
        raise NotImplementedError

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the text of token ids that the model reads."""
        raise NotImplementedError

    def call(self, tensors: "dict[str, Tensor]", every: bool = False, position: int | None = None) -> Any:
        """Return the network's output. `every`: compute logits of all tokens, where a decoder would only compute those
        of `position`, by default the last."""
        raise NotImplementedError

    def outputs(self, output: object) -> "Tensor":
        """Extract logits (row, token, vocabulary) or sentence vectors (row, d) from the network's output."""
        raise NotImplementedError

    def answered(self, asked: ModelInput, output: Any, row: int = 0) -> "tuple[Tensor, list[int]]":
        """Return the logits (position, vocabulary) at the positions where the model answers in one row of a pass, and
        these positions."""
        raise NotImplementedError

    def answer(self, asked: ModelInput, output: Any, row: int = 0) -> PassAnswer:
        """Return the model's answer for one row of a pass. Raises UserError if it gives none."""
        if self.task == "none":
            raise UserError(f"{self.card.title} has no answer that could change; choose a model that predicts words or "
                            f"sentence vectors.")
        logits, positions = self.answered(asked, output, row)
        return PassAnswer(self.task, tuple(positions), logits.float().cpu().numpy())

    def prediction(self, query: Query, asked: ModelInput, output: Any) -> Prediction | None:
        """Return the best CANDIDATES words or classes at the positions where the model answers, or None if it predicts
        nothing but a number. The probabilities of classes are those of transformers' own text-classification pipeline:
        classes that do not exclude each other, or a single one, have a sigmoid each."""
        logits, positions = (None, []) if self.task == "none" else self.answered(asked, output)
        classes = self.network.config if self.task == "label" and not self.ours else None
        if logits is None or not positions or getattr(classes, "problem_type", None) == "regression":
            return None
        logits, name = logits.float(), self.vocabulary.name
        normaliser, best = logits.logsumexp(-1), logits.topk(min(CANDIDATES, logits.shape[-1]))
        ids, chances = best.indices.tolist(), (best.values - normaliser[:, None]).exp().tolist()
        if classes and (classes.num_labels == 1 or classes.problem_type == "multi_label_classification"):
            normaliser, chances = logits[0, :0], best.values.double().sigmoid().tolist()
        return Prediction(self.task, tuple(positions), tuple(map(tuple, ids)),
                          tuple(tuple(map(name, row)) for row in ids), tuple(map(tuple, chances)),
                          tuple(normaliser.tolist()))

    def forward(self, tensors: "dict[str, Tensor]") -> "Tensor":
        """Return logits (row, token, vocabulary) or sentence vectors (row, d) of a plain, differentiable pass."""
        return self.outputs(self.call(tensors))

    def run(self, asked: ModelInput, edits: frozenset[Edit] = frozenset(), report: Progress = quiet, *,
            every: bool = False, position: int | None = None,
            rows: "list[dict[KindHeadId, Tensor]] | None" = None) -> Pass:
        """Run one captured pass; see `model.core.models.OpenModel.run` for the arguments."""
        if edits and rows is not None and len(rows) > 1:   # an edited pass reads one text
            import torch

            each = [self.run(asked, edits, report, every=every, position=position, rows=[row]) for row in rows]
            return Pass(lambda: torch.cat([one.outputs() for one in each]), lambda row: each[row].answer(0), {})
        session, tensors = self.session(edits, asked.lengths, report), asked.tensors
        heads: dict[tuple[Kind, int], Tensor] = {}
        session.tap = partial(_with_rows, heads if position is None else None, rows or [])
        if rows is not None:
            tensors = {name: tensor.repeat(len(rows), *[1] * (tensor.ndim - 1)) for name, tensor in tensors.items()}
        with self.threads(asked):
            output = forward_pass.run(session, lambda: self.call(tensors, every, position))
        return Pass(partial(self.outputs, output), partial(self.answer, asked, output), heads)

    def session(self, edits: frozenset[Edit], lengths: tuple[int, int | None] | None,
                report: Progress = quiet) -> forward_pass.Session:
        """Return a session for one pass with these edits, including the outputs that patches copy from other passes.
        lengths: the numbers of source and target tokens, or None while the target is being generated."""
        return forward_pass.Session(self.names, self.wiring.slots if self.wiring else {}, edits, report,
                                    self._patches(edits, lengths))

    def _patches(self, edits: Iterable[Edit], lengths: tuple[int, int | None] | None) -> "dict[Patch, Tensor]":
        """Return the head's output (q, d_v) that each patch copies from another pass. Raises UserError if that pass has
        a different number of tokens."""
        patches = [edit for edit in edits if isinstance(edit, Patch)]
        taken = {}
        for other in {patch.from_query for patch in patches}:
            record = self.record(other, quiet)   # verified
            for patch in (patch for patch in patches if patch.from_query == other):
                if patch.kind not in record.kinds:
                    raise UserError(f"“{other.text[:60]}” was read without a target, so it has no decoder pass to "
                                    f"copy from; give it a target.")
                layer = record[patch.kind].captured(patch.layer, "no head can be patched")
                taken[patch] = tensor_of(layer.output(patch.head))
                if lengths is not None:
                    check_lengths(other, len(taken[patch]), verify.ends(*lengths)[patch.kind][0] or lengths[0])
        return taken

    def threads(self, asked: ModelInput) -> AbstractContextManager[None]:
        """Return a context that sets the number of threads to suit a pass for this question."""
        return limited_threads(self.plan.operations_for(max(length or 0 for length in asked.lengths)))

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the record of this query. Raises UserError if the query cannot be answered or if verification
        fails."""
        asked = self.tokens(query, report)
        with self.threads(asked):
            if self.wiring is None:
                maps, verification, output = self.reported(asked, report)
            else:
                session = self.session(query.edits, asked.lengths, lambda done, text: report(0.05 + 0.85 * done, text))
                with forward_pass.measuring(session, self.network, self.wiring.gated, self.wiring.beside):
                    output = forward_pass.run(session, lambda: self.call(asked.tensors))
                report(0.92, "checking the picture")
                maps, verification = self._captured(session, asked, self.wiring)
            notes = asked.notes + (SIGNED,) * any(each.signed for each in maps)
            if any(isinstance(edit, Hide | Window) for edit in query.edits) and mixers(self.network):
                notes += (HIDDEN,)
            return AttentionRecord(query, self.card, maps, verification, self.prediction(query, asked, output),
                                   asked.omitted, notes, asked.picture, written=asked.written)

    def _captured(self, session: forward_pass.Session, asked: ModelInput,
                  wiring: verify.Wiring) -> tuple[tuple[AttentionMap, ...], Verification]:
        members: dict[Kind, list] = {kind: [] for kind in Kind}
        layers = []
        for call in session.calls:
            slot = wiring.slots.get((call.module, call.occurrence))
            if slot is None:
                raise UserError(f"{self.card.title} used {call.module} in a way that did not occur when it was "
                                f"verified; try another text or model.")
            layers.append(call.layer(slot.index))
            members[slot.kind].append(layers[-1])
        verification = verify.check_answer(session.calls, layers, wiring, session.edits, session.patched_outputs)
        if verification.status == "refused":
            raise UserError(f"{self.card.title} is not shown for this text: {verification.reasons[-1]}, so the picture "
                            f"may be wrong; try another text or model.")
        if self.reasons:   # verified for this network, but something in its folder is not applied
            verification = replace(verification, status="reported",
                                   reasons=(*self.reasons, *verification.reasons))
        return tuple(replace(each, others=wiring.others.get(each.kind, ()))
                     for each in maps_of(members, asked)), verification

    def reported(self, asked: ModelInput, report: Progress) -> tuple[tuple[AttentionMap, ...], Verification, Any]:
        """Return the weights that the model itself reports, for models that cannot be captured, and the network's
        output."""
        raise NotImplementedError

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = (),
              record: AttentionRecord | None = None) -> Trace:
        """Return the trace of the pass that answers the query, with these tokens alone if any are given. Raises
        UserError if the model's structure cannot be followed, or if all of it takes too much memory."""
        return trace.trace(self, query, report, tokens, record)

    def check_edits(self, edits: Iterable[Edit], lengths: tuple[int, int | None]) -> None:
        """Raise UserError for an edit of a head or token that does not exist."""
        for edit in edits:
            if self.wiring is None:
                raise UserError(f"{self.card.title} reports its weights but cannot be edited; choose a verified model.")
            if isinstance(edit, Window):
                if not self.wiring.has(Kind.CAUSAL):
                    raise no_last_keys(self.card.title)
                continue
            if isinstance(edit, Hide):
                there, which = edit.token < (lengths[edit.side == "target"] or 0), f"token {edit.token} in this text"
            else:
                there = edit.head in range(self.wiring.heads(edit.kind, edit.layer))
                which = f"head {edit.head} in {edit.kind} layer {edit.layer} of {self.card.title}"
            if not there:
                raise UserError(f"There is no {which}; choose one that is shown.")


def _with_rows(heads: "dict[tuple[Kind, int], Tensor] | None", rows: "list[dict[KindHeadId, Tensor]]",
               slot: forward_pass.Slot, _tensors: "tuple[Tensor, ...]", output: "Tensor") -> "Tensor":
    """Return the output (row, q, head, d_v) of one attention layer, with the heads of each row replaced; keep the first
    row in `heads`, if it is given."""
    for row, replaced in enumerate(rows):
        for (kind, layer, head), other in replaced.items():
            if (kind, layer) == (slot.kind, slot.index):
                output[row, :, head] = other.to(output.device)
    if heads is not None:
        heads[slot.kind, slot.index] = output[0].cpu()
    return output


def maps_of(members: "dict[Kind, list] | dict[Kind, tuple]", asked: ModelInput) -> tuple[AttentionMap, ...]:
    """Build the attention maps of these layers over the input's tokens."""
    ends = verify.ends(asked.source, asked.target or asked.source)
    return tuple(AttentionMap(kind, *ends[kind], tuple(layers)) for kind, layers in members.items() if layers)
