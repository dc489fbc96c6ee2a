"""Decompose a forward pass exactly: why a head attends to a token, and what each component writes (Elhage et al. 2021).

The residual stream is a sum of contributions: the parts of the embedding, all earlier heads and feed-forward layers,
and biases. A norm is linear if its scale is frozen at its value in this pass, so it can be applied to each contribution
separately. This gives two identities, and every answer reports its deviation from them:

- An attention score is a sum over pairs (writer of the query, writer of the key). A position bias, as in T5 and ALiBi,
  is a separate term.
- A logit, or the difference of two logits, is a sum over everything that wrote to the stream at that position (direct
  logit attribution). So is the cosine of a sentence vector with another one, over all tokens. These are in
  `model.studies.contributions`.

Because the scales are frozen, the parts describe this pass; they do not predict the effect of an intervention, which
would also change the scales.
"""
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.heads import allowed_cells, ranked_frame
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.query import Kind, Progress, UserError, frozen, head_label, with_arrays
from clearhead.model.core.record import AttentionRecord, Layer
from clearhead.model.core.traces import (
    AttentionOutput,
    AttentionTrace,
    Block,
    Norm,
    Pairs,
    Projection,
    Step,
    Trace,
    closeness,
    norm_giving,
    same_numbers,
    turned,
)
from clearhead.model.studies.rollout import apply_norm

if TYPE_CHECKING:
    from pandas import DataFrame

BIAS = "bias"
# with a number: layers without softmax attention before or after it
BEFORE, AFTER = "before layer ", "after layer "
OTHERS = "others"    # the sum of all smaller writers in a grouped matrix


def writer(kind: Kind, layer: int, head: int) -> str:
    """Return the name of a head as a writer, "L·H" or "cross L·H"."""
    return ("cross " if kind == Kind.CROSS else "") + head_label(layer, head)


@with_arrays
class ResidualStream:
    """The contributions to the residual stream at some tokens."""

    names: tuple[str, ...]   # the writers: token, position, "L·H", "mlp L", bias, …
    parts: np.ndarray        # float64 (writer, token, d_model)

    @property
    def total(self) -> np.ndarray:
        """The residual stream, (token, d_model)."""
        return self.parts.sum(0)

    def add(self, name: str, vectors: np.ndarray | None) -> "ResidualStream":
        """Return the stream plus a writer's vectors (token, d_model), or one vector for all tokens, if there are
        any."""
        return self if vectors is None else self.join(
            ResidualStream((name,), np.broadcast_to(vectors, self.parts.shape[1:])[None]))

    def join(self, other: "ResidualStream") -> "ResidualStream":
        """Return the sum of two streams."""
        every = (*self.names, *other.names)
        names = list(dict.fromkeys(every))
        parts = np.zeros((len(names), *self.parts.shape[1:]))
        np.add.at(parts, [names.index(name) for name in every], np.concatenate([self.parts, other.parts]))
        return ResidualStream(tuple(names), parts)

    def scaled(self, factor: np.ndarray | None) -> "ResidualStream":
        """Multiply every contribution by a factor (token or 1, d_model or 1); None is 1."""
        return self if factor is None else ResidualStream(self.names, self.parts * factor)

    def through(self, norm: Norm | None, tokens: np.ndarray) -> "ResidualStream":
        """Apply a norm, if there is one, with frozen scale to every contribution; the norm's bias becomes a writer."""
        return self if norm is None else ResidualStream(
            self.names, apply_norm(norm, tokens, self.parts)).add(BIAS, norm.bias)


class Walk:
    """The residual stream of one stack at some tokens."""

    def __init__(self, record: AttentionRecord, trace: Trace, kind: Kind, tokens: list[int]) -> None:
        self.record, self.trace, self.tokens, self.rows = record, trace, np.array(tokens), trace.at(kind, tokens)
        self.stack = Kind.CAUSAL if kind is Kind.CROSS else kind

    def __iter__(self) -> Iterator[tuple[Block | None, Step | None, ResidualStream]]:
        """Yield the stream at every block's input, after each of its steps and, without a block, at the end. Between
        two blocks, the stream may be scaled; layers without softmax attention are one writer, at the end too,
        and modules of a block besides attention are "mlp L". Raises UserError if a block's steps are unknown."""
        stream, after = self._start(), self.trace.start(self.stack).output
        for block in self.trace.blocks:
            if block.kind is self.stack:
                scale = (block.before * after).sum() / (after * after).sum()
                if not same_numbers(after, block.before) and same_numbers(after * scale, block.before):
                    stream = stream.scaled(scale)
                gap = block.before[self.rows] - stream.total
                if np.abs(gap).max() > closeness() * np.abs(block.before).max():
                    stream = stream.add(f"{BEFORE}{block.index}", gap)
                yield block, None, stream
                for step in block.followed:
                    stream = stream.scaled(step.scale)
                    if step.attention is not None:
                        stream = stream.join(self.added(step, block.attentions[step.attention]))
                    if step.wrote is not None:
                        stream = stream.add(f"mlp {block.index}", step.wrote[self.rows])
                    stream = stream.through(step.norm, self.rows)
                    yield block, step, stream
                after = block.after
        last, end, _ = self.trace.last(self.stack)
        yield None, None, stream if end is last.after else stream.add(
            f"{AFTER}{last.index}", end[self.rows] - stream.total)

    def whole(self) -> ResidualStream:
        """Return the stream after the last block."""
        return deque(self, maxlen=1)[0][2]

    def read(self, block: Block | None, norms: Iterable[Norm], read: np.ndarray, what: str) -> ResidualStream:
        """Return the first stream in a block or, without one, at the end that equals what is read, (t, d_model), itself
        or after one of the norms. Raises UserError, which names `what` is read, if there is none."""
        width = self.trace.last(self.stack)[1].shape[1:]   # a norm of more than the stream is not followed
        norm = norm_giving((norm for norm in norms if norm.gain.shape == width), read)
        for each, _, stream in self:
            for found in (stream, stream.through(norm, self.rows)) if each is block else ():
                if same_numbers(found.total, read[self.rows]):
                    return found
        raise UserError(f"{what}, so its scores cannot be split; choose another model.")

    def _start(self) -> ResidualStream:
        start = self.trace.start(self.stack)
        wanted = start.output[self.rows].astype(np.float64)
        if start.parts:
            names, parts = zip(*start.parts, strict=True)
            stream = ResidualStream(names, np.array(parts, np.float64)[:, self.rows]).through(start.norm, self.rows)
            if same_numbers(stream.total, wanted):
                return stream
        first = next(block.index for block in self.trace.blocks if block.kind is self.stack)
        return ResidualStream((f"{BEFORE}{first}" if first else "embedding",), wanted[None])

    def added(self, step: Step, attention: AttentionOutput) -> ResidualStream:
        """Return what each head of an attention layer adds to the stream in this step, before the norm of the sum."""
        return self.heads(attention).through(step.inner, self.rows).scaled(step.factor)

    def heads(self, attention: AttentionOutput) -> ResidualStream:
        """Return each head's output at these tokens after W_O, and the output bias."""
        layer = self.record[attention.kind].captured(attention.index, "its heads cannot be traced")
        mixed = np.asarray(layer.head_outputs(self.tokens), np.float64)
        if attention.gate is not None:
            mixed *= attention.gate[self.rows].swapaxes(0, 1)
        names = tuple(writer(attention.kind, attention.index, head) for head in range(layer.heads))
        return ResidualStream(names, mixed @ attention.w_output).add(BIAS, attention.b_output)


@frozen
class WhyQuery(MapQuestion):
    """Why does one cell of a head have its score?"""

    layer: int
    head: int
    looking: int     # position of the query
    looked_at: int   # position of the key

    def answer(self, models: Models, report: Progress) -> "Why":
        """Decompose the score. Raises UserError if the cell is masked or the model cannot be traced."""
        record = models.record(self.query, report)
        trace = models.trace(self.query, report, (self.looking, self.looked_at))
        block, attention = trace.block(self.kind, self.layer), trace.attention(self.kind, self.layer)
        layer = record[self.kind].captured(self.layer, "no score can be split")
        if not allowed_cells(layer.allowed, *self._cell, self.head).all():
            raise UserError("This cell is masked and has no score; choose a cell that the head may attend to.")
        walk, said = Walk(record, trace, self.kind, [self.looking]), f"The input of layer {block.index}"
        queries = walk.read(block, block.norms, attention.x, f"{said} is not the residual stream or its norm")
        query_row = walk.rows[0]
        crossed = self.kind is Kind.CROSS
        if crossed and not any(each.kind is Kind.SELF for each in trace.embedded):
            raise UserError(f"The encoder of {record.card.title} cannot be traced, so what wrote the keys is unknown; "
                            f"choose another kind of attention.")
        walk = Walk(record, trace, Kind.SELF if crossed else self.kind, [self.looked_at])
        keys = walk.read(None if crossed else block, trace.final if crossed else block.norms, attention.memory,
                         f"{said} is not the residual stream, the encoder's final vectors or their norm")
        ends = (queries, query_row), (keys, walk.rows[0])
        found = self._split(layer, attention, *ends)
        if layer.minus is None or attention.minus is None:
            return found
        return replace(found, minus=self._split(layer.minus, attention.minus, *ends), factor=layer.minus_factor)

    @property
    def _cell(self) -> tuple[slice, slice]:
        """The cell's row and column."""
        return slice(self.looking, self.looking + 1), slice(self.looked_at, self.looked_at + 1)

    def _split(self, layer: Layer, attention: AttentionTrace, queries: tuple[ResidualStream, int],
               keys: tuple[ResidualStream, int]) -> "Why":
        """Split the score of one softmax. queries, keys: the streams that they are read from, and the rows of the
        cell's tokens in the trace."""
        group = layer.group(self.head)
        seen, shown = layer.query[self.head, self.looking], layer.key[group, self.looked_at]
        query = _projected(queries[0], attention.query, attention.query_scale, queries[1], self.head, seen,
                           attention.pairs)
        key = _projected(keys[0], attention.key, attention.key_scale, keys[1], group, shown, attention.pairs)
        parts = query.parts[:, 0] @ key.parts[:, 0].T * layer.scale
        own = float(layer.scores(slice(self.head, self.head + 1), *self._cell)[0, 0, 0])
        raw = float(seen.astype(np.float64) @ shown * layer.scale)
        terms = []
        if layer.softcap is not None:
            terms.append(("soft cap", float(layer.softcap * np.tanh(raw / layer.softcap) - raw)))
        if layer.bias is not None:
            bias = layer.bias.block(*self._cell)
            terms.append(("position bias", float(bias[self.head if bias.ndim == 3 else ...].reshape(-1)[0])))
        return Why(own, query.names, key.names, parts, tuple(terms))


@with_arrays
class Why:
    """An attention score before the softmax as a sum over pairs of writers."""

    score: float                      # the score in the record
    query_writers: tuple[str, ...]
    key_writers: tuple[str, ...]
    parts: np.ndarray                 # float64 (query writer, key writer)
    terms: tuple[tuple[str, float], ...]   # further summands: a position bias, the effect of a soft cap
    # of differential attention, the score in the second softmax, and the factor λ with which that is subtracted
    minus: "Why | None" = None
    factor: float = 0.0

    def __repr__(self) -> str:
        most = self.frame().iloc[0]
        second = "" if self.minus is None else f"; minus λ = {self.factor:.3f} times the softmax of {self.minus}"
        return (f"<Why: score {self.score:.4f}, {self.parts.size} parts that sum to {self.total:.4f}; largest "
                f"{most.query_from} × {most.key_from} {most.value:+.4f}{second}>")

    @property
    def total(self) -> float:
        """The sum of all parts and terms, equal to `score` up to rounding."""
        return float(self.parts.sum() + sum(value for _, value in self.terms))

    def grouped(self, most: int) -> "Why":
        """Keep the `most` largest writers of each side and sum the others."""
        parts, names = self.parts, [self.query_writers, self.key_writers]
        for axis, writers in enumerate(names):
            kept = np.sort(np.argsort(-np.abs(self.parts).sum(1 - axis), kind="stable")[:most])
            if len(writers) > most:
                names[axis] = (*(writers[place] for place in kept), OTHERS)
                others = np.delete(parts, kept, axis).sum(axis, keepdims=True)
                parts = np.concatenate([np.take(parts, kept, axis), others], axis)
        return replace(self, query_writers=names[0], key_writers=names[1], parts=parts)

    def frame(self) -> "DataFrame":
        """Return one row per pair with query_from, key_from and value, sorted by absolute value in descending order."""
        return ranked_frame({"query_from": np.repeat(self.query_writers, len(self.key_writers)),
                             "key_from": np.tile(self.key_writers, len(self.query_writers)),
                             "value": self.parts.ravel()}, "value")


def _projected(stream: ResidualStream, projection: Projection, scale: np.ndarray | None, row: int, head: int,
               seen: np.ndarray, pairs: Pairs) -> ResidualStream:
    """Project the stream at a token to a head's query or key, parts (writer, 1, d_k). Each part is scaled and rotated
    as the norm and RoPE did with the whole. seen: the rotated query or key, (d_k)."""
    made = ResidualStream(stream.names, stream.parts @ projection.weight[head])
    if projection.bias is not None:
        made = made.add(BIAS, projection.bias[head])
    parts = made.parts if scale is None else made.parts * scale[row, head]
    return ResidualStream(made.names, turned(parts, parts.sum(0), seen, pairs))
