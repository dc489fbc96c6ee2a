"""Path patching: replace the value of one path, from a head to another head or to the logits, by its value in the twin
sentence (Wang et al. 2022; Goldowsky-Dill et al. 2023).

The sender's output is replaced by its output in the twin, but only in the input of one receiver's queries, keys or
values, including all norms in between. The receiver's output is recomputed from this input, and the model continues
with the new output, with nothing frozen. A path to the logits only changes the input of the unembedding.

Between sender and receiver, all heads and feed-forward layers are frozen at their outputs in the sentence, so that a
path only runs along the residual stream. Wang et al. freeze the heads alone: their paths also run through the
feed-forward layers in between, which are recomputed, so their numbers differ from these.

Each sentence is run with the edits of its own query, and so is every pass with a patched path. A head whose output an
edit replaces sends that output, and as a receiver it reads nothing, so no path into it has an effect, unless the edit
is the mean over positions.
"""
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads as core_heads
from clearhead.model.core.heads import head_frame, head_ids, ranked_frame
from clearhead.model.core.models import Models, Pass, check_lengths
from clearhead.model.core.query import (
    HeadId,
    Kind,
    KindHeadId,
    Progress,
    Query,
    Silence,
    UserError,
    check_same_model,
    counted,
    frozen,
    head_label,
    quiet,
    quoted,
    with_arrays,
)
from clearhead.model.core.record import AttentionRecord, tensor_of
from clearhead.model.core.traces import Trace, norm_giving, same_numbers, turned
from clearhead.model.studies.circuits import Walk
from clearhead.model.studies.contributions import token_id

if TYPE_CHECKING:
    from pandas import DataFrame

READS = ("query", "key", "value")   # inputs of the receiver that can change


@frozen
class PathsQuery:
    """How does the answer change if one path into a receiver has its value from `twin`? Patches every path alone."""

    query: Query
    twin: Query
    position: int                       # position of the logits
    token: int | str                    # the answer, as a string or id
    rival: int | str                    # the token whose logit is subtracted
    receiver: HeadId | None = None      # None for the logits
    reads: tuple[str, ...] = READS
    senders: tuple[HeadId, ...] = ()    # () for all earlier heads

    def answer(self, models: Models, report: Progress) -> "Paths":
        """Compute every path's effect. Raises UserError if the texts differ in length or the logits cannot be
        traced."""
        check_same_model(self.query, self.twin)
        opened = models.open(self.query, report)
        both = self.query, self.twin
        records, traces = [models.record(each, quiet) for each in both], [models.trace(each, quiet) for each in both]
        trace, kind = traces[0], traces[0].blocks[-1].kind
        if trace.unembedding is None:
            raise UserError(f"Path patching needs logits that can be traced, and {opened.card.title} has none; choose "
                            f"a decoder such as SmolLM2.")
        check_lengths(self.twin, *(len(record[kind].queries) for record in records[::-1]))
        ids = [token_id(opened, each, len(trace.unembedding.weight)) for each in (self.token, self.rival)]
        heads, receiver = head_ids(records[0][kind]), self.receiver
        earlier = tuple(head for head in heads if receiver is None or head[0] < receiver[0])
        senders = self.senders or earlier
        if not {*self.reads} <= {*READS}:
            raise UserError(f"reads= takes some of {', '.join(READS)}, not {quoted(', '.join(map(str, self.reads)))}.")
        if receiver not in (None, *heads) or not senders or not {*senders} <= {*earlier}:
            raise UserError(f"There is no such path in {opened.card.title}; choose heads from {head_label(*heads[0])} "
                            f"to {head_label(*heads[-1])}, and a receiver in a later layer than the sender.")
        given, edits = opened.tokens(self.query), self.query.edits
        plain, twin = (float(_differences(opened.run(opened.tokens(each), each.edits, every=True), ids,
                                          self.position)[0]) for each in both)
        outputs: dict[int, np.ndarray] = {}
        patched = np.empty(len(senders))
        for number, (layer, head) in counted(senders, report, "path"):
            if layer not in outputs:
                outputs[layer] = _change(kind, layer, records, traces)
            change = _carried(trace, kind, layer, self.receiver, outputs[layer][head])
            if self.receiver is None:
                after = trace.last(kind)[1]
                before, behind = (trace.readout(each, self.position, ids) for each in (after, after + change))
                patched[number] = plain + (behind - before) @ np.array([1.0, -1.0])
                continue
            end = (kind, *self.receiver)
            made = _received(records[0], trace.plain(), end, self.reads, change).astype(np.float32)
            done = opened.run(given, edits, rows=[{end: tensor_of(made)}], every=True)
            patched[number], = _differences(done, ids, self.position)
        return Paths(plain, twin, senders, patched)


@with_arrays
class Paths:
    """Each path's effect on the logit difference, the answer's logit minus the rival's."""

    plain: float                  # difference without a patch
    twin: float                   # difference for the twin
    senders: tuple[HeadId, ...]
    patched: np.ndarray           # difference with this path patched, float64 (sender)

    def __repr__(self) -> str:
        return f"<Paths: {len(self.senders)} paths; difference {self.plain:.4f}, in the twin {self.twin:.4f}>"

    def frame(self) -> "DataFrame":
        """Return one row per sender with layer, head and effect (the change in the difference), sorted by the magnitude
        of the effect in descending order."""
        layers, heads = np.array(self.senders).reshape(-1, 2).T
        return ranked_frame({"layer": layers, "head": heads, "effect": self.patched - self.plain}, "effect")


def _differences(done: Pass, ids: Sequence[int], position: int) -> np.ndarray:
    """Return the logit of ids[0] minus that of ids[1] at a position, float32 (row)."""
    logits = done.outputs()
    logits = logits if logits.ndim == 2 else logits[:, position]   # a classifier's are the same for all positions
    return np.asarray((logits[:, ids[0]] - logits[:, ids[1]]).numpy())


def _change(kind: Kind, layer: int, records: list[AttentionRecord], traces: list[Trace]) -> np.ndarray:
    """Return each head's contribution to its layer's output in the twin minus that in the sentence, float64 (head, t,
    d_model)."""
    written = []
    for record, trace in zip(records, traces, strict=True):
        attention = trace.find(kind, layer)[1]
        if attention.gate is not None:
            trace.plain()
        walk = Walk(record, trace, kind, list(range(len(attention.output))))
        written.append(walk.heads(attention).parts[:len(attention.w_output)])   # without the bias
    return written[1] - written[0]


def _carried(trace: Trace, kind: Kind, layer: int, receiver: HeadId | None, change: np.ndarray) -> np.ndarray:
    """Return the change of the stream that the receiver reads if the output of an attention layer changes, both (t,
    d_model). Norms in between are recomputed with the change added to their input."""
    sender, carried = trace.find(kind, layer)[1], np.zeros_like(change)
    for block in (block for block in trace.blocks if block.kind is kind):
        if layer <= block.index and (receiver is None or block.index < receiver[0]):
            for step in block.followed:
                carried = carried if step.scale is None else step.scale * carried
                if step.attention is not None and block.attentions[step.attention] is sender:
                    carried = carried + step.added(sender.output + change) - step.added(sender.output)
                if step.norm is not None:
                    carried = step.norm.apply(step.norm.input + carried) - step.norm.output
    return carried


def _received(record: AttentionRecord, trace: Trace, receiver: KindHeadId, reads: tuple[str, ...],
              change: np.ndarray) -> np.ndarray:
    """Return the receiver's output, float64 (t, d_v), with the sender's change added to its input."""
    kind, layer, head = receiver
    block, attention = trace.block(kind, layer), trace.attention(kind, layer)
    own = record[kind].captured(layer, "no path can be patched")
    edit = record.query.output_edit(receiver)
    if edit is not None and edit != Silence(*receiver, "mean"):   # whatever it reads
        return own.output(head)
    norm = norm_giving(block.norms, attention.x)
    if not same_numbers(attention.x if norm is None else norm.input, block.before):
        raise UserError(f"The input of layer {layer} is neither the residual stream nor its norm, so no path into it "
                        f"can be patched; choose another model.")
    changed = block.before + change
    changed = changed if norm is None else norm.apply(changed)
    parts = {name: getattr(own, name).copy() for name in READS}
    for name in reads:
        projection, place = getattr(attention, name), head if name == "query" else own.group(head)
        made = projection.apply(changed, place)
        parts[name][place] = made if name == "value" else turned(
            made, projection.apply(attention.x, place), parts[name][place], attention.pairs)
    made = np.asarray(core_heads.weights(replace(own, **parts), head) @ parts["value"][own.group(head)])
    return made if edit is None else np.broadcast_to(made.mean(0), made.shape)


@frozen
class AblationQuery:
    """How does the logit difference change if a head is ablated? Ablates each head alone, in three ways, each sentence
    with the edits of its own query."""

    query: Query
    twin: Query
    position: int                # position of the logits
    token: int | str
    rival: int | str
    heads: tuple[HeadId, ...]

    def answer(self, models: Models, report: Progress) -> "Ablations":
        """Compute the logit difference for each ablation. Raises UserError if the texts differ in length."""
        check_same_model(self.query, self.twin)
        opened = models.open(self.query, report)
        given = opened.tokens(self.query)
        own, other = (opened.run(opened.tokens(each), each.edits, every=True) for each in (self.query, self.twin))
        kind = Kind.CAUSAL if (Kind.CAUSAL, self.heads[0][0]) in own.heads else Kind.SELF
        ids = [token_id(opened, each, own.outputs().shape[-1]) for each in (self.token, self.rival)]
        found = np.empty((len(self.heads), len(WAYS)))
        for number, (layer, head) in counted(self.heads, report, "head"):
            out, resampled = (done.heads[kind, layer][:, head] for done in (own, other))
            check_lengths(self.twin, len(resampled), len(out))
            rows = [{(kind, layer, head): each} for each in (out * 0, out.mean(0).expand_as(out), resampled)]
            found[number] = _differences(opened.run(given, self.query.edits, rows=rows, every=True), ids, self.position)
        return Ablations(self.heads, float(_differences(own, ids, self.position)[0]), found)


WAYS = ("zero", "mean", "twin")   # replacement for a head's output: zeros, its mean over positions, the twin's output


@with_arrays
class Ablations:
    """The logit difference with each head ablated, in the order of WAYS."""

    heads: tuple[HeadId, ...]
    plain: float          # without an ablation
    removed: np.ndarray   # float64 (head, way)

    def frame(self) -> "DataFrame":
        """Return one row per head with the change in the logit difference for each of WAYS: zero, mean and twin."""
        return head_frame(self.heads, dict(zip(WAYS, (self.removed - self.plain).T, strict=True)))
