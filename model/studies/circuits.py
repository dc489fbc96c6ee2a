"""Decompose a forward pass exactly: why a head attends to a token, and what each component writes (Elhage et al. 2021).

The residual stream is a sum of contributions: the parts of the embedding, all earlier heads and feed-forward layers,
and biases. A norm is linear if its scale is frozen at its value in this pass, so it can be applied to each contribution
separately. This gives two identities, and every answer reports its deviation from them:

- An attention score is a sum over pairs (writer of the query, writer of the key). A position bias, as in T5 and ALiBi,
  is a separate term.
- A logit, or the difference of two logits, is a sum over everything that wrote to the stream at that position (direct
  logit attribution). So is the cosine of a sentence vector with another one, over all tokens.

A masked-word model's activation before the unembedding is frozen too, at its ratio of output to input. Because scales
are frozen, the parts describe this pass; they do not predict the effect of an intervention, which would also change the
scales.
"""
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from model.core.models import Models, OpenModel
from model.core.query import Kind, Progress, Query, UserError, head_label
from model.core.record import AttentionRecord, Layer
from model.core.statistics import entropy
from model.core.trace import CLOSE, AttentionTrace, Block, Norm, Projection, Trace, same_numbers, turned

if TYPE_CHECKING:
    from pandas import DataFrame

BIAS = "bias"
BEFORE = "before layer "   # with a number: layers without softmax attention before it
REST = "rest"        # the remainder that no named writer accounts for
OTHERS = "others"    # the sum of all smaller writers in a grouped matrix
LENS_TOKENS = 5      # number of best tokens per layer of the logit lens
MOVED_TOKENS = 6     # number of tokens that a head promotes most, and that it demotes most
BATCH = 16           # tokens whose contributions are in memory at once
NO_LOGITS = ("This model predicts no tokens, or computes their logits in a way that cannot be split by what wrote them;"
             " choose a decoder such as SmolLM2.")


@dataclass(frozen=True, eq=False)
class Stream:
    """The contributions to the residual stream at some tokens."""

    names: tuple[str, ...]   # the writers: token, position, "L·H", "mlp L", bias, …
    parts: np.ndarray        # float64 (writer, token, d_model)

    @property
    def total(self) -> np.ndarray:
        """The residual stream, (token, d_model)."""
        return self.parts.sum(0)

    def add(self, name: str, vectors: np.ndarray) -> "Stream":
        """Return the stream plus a writer's vectors (token, d_model), or one vector for all tokens."""
        return self.join(Stream((name,), np.broadcast_to(vectors, self.parts.shape[1:])[None]))

    def join(self, other: "Stream") -> "Stream":
        """Return the sum of two streams."""
        fresh = [place for place, name in enumerate(other.names) if name not in self.names]
        names = (*self.names, *(other.names[place] for place in fresh))
        parts = np.concatenate([self.parts, other.parts[fresh]])
        for name, part in zip(other.names, other.parts, strict=True):
            if name in self.names:
                parts[names.index(name)] += part
        return Stream(names, parts)

    def through(self, norm: Norm, tokens: np.ndarray) -> "Stream":
        """Apply a norm with frozen scale to every contribution; the norm's bias becomes a writer."""
        parts = self.parts - self.parts.mean(-1, keepdims=True) if norm.kind == "layer" else self.parts
        scaled = Stream(self.names, parts * norm.scales[tokens, None] * norm.gain.astype(np.float64))
        return scaled if norm.bias is None else scaled.add(BIAS, norm.bias.astype(np.float64))


class Walk:
    """The residual stream of one stack at some tokens, before each block and after the last block."""

    def __init__(self, record: AttentionRecord, trace: Trace, kind: Kind, tokens: list[int]) -> None:
        self.record, self.trace, self.tokens = record, trace, np.array(tokens)
        self.stack = Kind.CAUSAL if kind is Kind.CROSS else kind

    def __iter__(self) -> Iterator[tuple[Block, Stream]]:
        """Yield every block with the stream at its input. Layers without softmax attention, between two blocks, are one
        writer."""
        stream = self._start()
        for block in self.trace.blocks:
            if block.kind is self.stack:
                gap = block.before[self.tokens] - stream.total
                if np.abs(gap).max() > CLOSE * np.abs(block.before).max():
                    stream = stream.add(f"{BEFORE}{block.index}", gap)
                yield block, stream
                stream = self._behind(block, stream)
        self.end = stream

    def whole(self) -> Stream:
        """Return the stream after the last block."""
        for _ in self:
            pass
        return self.end

    def _start(self) -> Stream:
        start = self.trace.start(self.stack)
        wanted = start.output[self.tokens].astype(np.float64)
        if start.parts:
            stream = Stream(tuple(name for name, _ in start.parts),
                            np.stack([part[self.tokens].astype(np.float64) for _, part in start.parts]))
            stream = stream if start.norm is None else stream.through(start.norm, self.tokens)
            if same_numbers(stream.total, wanted):
                return stream
        first = next(block.index for block in self.trace.blocks if block.kind is self.stack)
        return Stream((f"{BEFORE}{first}" if first else "embedding",), wanted[None])

    def _behind(self, block: Block, stream: Stream) -> Stream:
        """Return the stream after a block. The attention layers add their heads; the feed-forward layer adds the
        remainder."""
        for attention in block.attentions:
            added = self.heads(attention)
            stream = self.added(block, stream, added, attention.output)
        norm = None if block.norm_first else next(
            norm for norm in block.norms if same_numbers(norm.output, block.after))
        target = (block.after if norm is None else norm.input)[self.tokens].astype(np.float64)
        stream = stream.add(f"mlp {block.index}", target - stream.total)
        return stream if norm is None else stream.through(norm, self.tokens)

    def added(self, block: Block, stream: Stream, added: Stream, output: np.ndarray) -> Stream:
        """Add an attention layer's heads to the stream, through the norm of the layer's output if there is one (Gemma
        2). In a post-LN block, also apply the norm of the sum."""
        after = next((norm for norm in block.norms if same_numbers(norm.input, output)), None)
        if after is not None:
            added = added.through(after, self.tokens)
        stream = stream.join(added)
        if not block.norm_first:
            norm = next((norm for norm in block.norms if same_numbers(norm.input[self.tokens], stream.total)), None)
            stream = stream if norm is None else stream.through(norm, self.tokens)
        return stream

    def heads(self, attention: AttentionTrace) -> Stream:
        """Return each head's output at these tokens after W_O, and the output bias."""
        layer, total = self.record[attention.kind].layer(attention.index), attention.output[self.tokens]
        if not isinstance(layer, Layer):
            raise UserError("The model only reports its weights, so its heads cannot be traced; choose a verified "
                            "model.")
        weights = layer.weights(slice(None), self.tokens, slice(0, layer.shape[2]))
        mixed = np.asarray(layer.mix(weights), np.float64)
        if attention.gate is not None:
            mixed *= attention.gate[self.tokens].swapaxes(0, 1)
        out = np.einsum("htv,hvd->htd", mixed, attention.w_output.astype(np.float64))
        prefix = "cross " if attention.kind is Kind.CROSS else ""
        names = tuple(prefix + head_label(attention.index, head) for head in range(layer.heads))
        added = Stream(names, out)
        if attention.b_output is not None:
            added = added.add(BIAS, attention.b_output.astype(np.float64))
        gap = total.astype(np.float64) - added.total
        return added if np.abs(gap).max() <= 1e-3 * np.abs(total).max() else added.add(REST, gap)


@dataclass(frozen=True)
class WhyQuery:
    """Why does one cell of a head have its score?"""

    query: Query
    kind: Kind
    layer: int
    head: int
    looking: int     # position of the query
    looked_at: int   # position of the key

    def answer(self, models: Models, report: Progress) -> "Why":
        """Decompose the score. Raises UserError if the cell is masked or the model cannot be traced."""
        record = models.record(self.query, report)
        return why(record, models.trace(self.query, report), self)


@dataclass(frozen=True, eq=False)
class Why:
    """An attention score before the softmax as a sum over pairs of writers."""

    score: float                      # the score in the record
    query_writers: tuple[str, ...]
    key_writers: tuple[str, ...]
    parts: np.ndarray                 # float64 (query writer, key writer)
    terms: tuple[tuple[str, float], ...]   # further summands: a position bias, the effect of a soft cap

    def __repr__(self) -> str:
        most = self.frame().iloc[0]
        return (f"<Why: score {self.score:.4f}, {self.parts.size} parts that sum to {self.total:.4f}; largest "
                f"{most.query_from} × {most.key_from} {most.value:+.4f}>")

    @property
    def total(self) -> float:
        """The sum of all parts and terms, equal to `score` up to rounding."""
        return float(self.parts.sum() + sum(value for _, value in self.terms))

    @property
    def nbytes(self) -> int:
        """Size of the parts in bytes."""
        return self.parts.nbytes

    def grouped(self, most: int) -> "Why":
        """Keep the `most` largest writers of each side and sum the others."""
        parts, names = self.parts, []
        for axis, writers in enumerate((self.query_writers, self.key_writers)):
            ranked = np.argsort(-np.abs(self.parts).sum(1 - axis), kind="stable")
            kept, others = np.sort(ranked[:most]), ranked[most:]
            names.append(tuple(writers[place] for place in kept) + (OTHERS,) * (len(others) > 0))
            summed = np.take(parts, others, axis).sum(axis, keepdims=True) if len(others) else np.take(parts, [], axis)
            parts = np.concatenate([np.take(parts, kept, axis), summed], axis)
        return Why(self.score, names[0], names[1], parts, self.terms)

    def frame(self) -> "DataFrame":
        """Return one row per pair with query_from, key_from and value, sorted by absolute value in descending order."""
        from pandas import DataFrame

        table = DataFrame({"query_from": np.repeat(self.query_writers, len(self.key_writers)),
                           "key_from": np.tile(self.key_writers, len(self.query_writers)),
                           "value": self.parts.ravel()})
        return table.sort_values("value", key=np.abs, ascending=False, kind="stable").reset_index(drop=True)


def why(record: AttentionRecord, trace: Trace, asked: WhyQuery) -> Why:
    """Decompose one cell's score by the writers of its query and key."""
    block, attention = trace.find(asked.kind, asked.layer)
    layer = record[asked.kind].layer(asked.layer)
    if not isinstance(layer, Layer):
        raise UserError("The model only reports its weights, so no score can be split; choose a verified model.")
    row, column = slice(asked.looking, asked.looking + 1), slice(asked.looked_at, asked.looked_at + 1)
    allowed = layer.allowed.block(row, column)
    if not bool(allowed[asked.head if allowed.ndim == 3 else ...].reshape(-1)[0]):
        raise UserError("This cell is masked and has no score; choose a cell that the head may attend to.")
    shared = layer.heads // len(layer.key)
    same_stack = asked.kind is not Kind.CROSS
    queries = _side(record, trace, asked.kind, block, attention.x, asked.looking)
    keys = _side(record, trace, asked.kind, block, attention.memory, asked.looked_at) if same_stack else \
        _memory(record, trace, attention.memory, asked.looked_at)
    group = asked.head // shared
    query = _projected(queries, attention.query, attention.query_scale, asked.looking, asked.head,
                       layer.query[asked.head, asked.looking], attention.pairs)
    key = _projected(keys, attention.key, attention.key_scale, asked.looked_at, group,
                     layer.key[group, asked.looked_at], attention.pairs)
    parts = query.parts[:, 0] @ key.parts[:, 0].T * layer.scale
    own = float(layer.scores(slice(asked.head, asked.head + 1), row, column)[0, 0, 0])
    raw = float(layer.query[asked.head, asked.looking].astype(np.float64)
                @ layer.key[group, asked.looked_at].astype(np.float64) * layer.scale)
    terms = []
    if layer.softcap is not None:
        terms.append(("soft cap", float(layer.softcap * np.tanh(raw / layer.softcap) - raw)))
    if layer.bias is not None:
        bias = layer.bias.block(row, column)
        terms.append(("position bias", float(bias[asked.head if bias.ndim == 3 else ...].reshape(-1)[0])))
    return Why(own, query.names, key.names, parts, tuple(terms))


def _side(record: AttentionRecord, trace: Trace, kind: Kind, block: Block, read: np.ndarray, token: int) -> Stream:
    """Return the contributions to read[token], the input of a block's projection at one token."""
    walk = Walk(record, trace, kind, [token])
    stream = next(entering for each, entering in walk if each is block)
    return _reading(stream, block.norms, read, token) or _after_attention(walk, block, stream, read, token)


def _reading(stream: Stream, norms: tuple[Norm, ...], read: np.ndarray, token: int) -> Stream | None:
    """Return the stream, after a norm if necessary, if it equals read[token]; otherwise None."""
    if same_numbers(stream.total, read[[token]].astype(np.float64)):
        return stream
    norm = next((norm for norm in norms if same_numbers(norm.output, read)), None)
    normed = None if norm is None else stream.through(norm, np.array([token]))
    return normed if normed is not None and same_numbers(normed.total, read[[token]].astype(np.float64)) else None


def _after_attention(walk: Walk, block: Block, stream: Stream, read: np.ndarray, token: int) -> Stream:
    """Return the contributions to the input of cross-attention: the stream after the block's self-attention. Raises
    UserError if its sum does not equal read[token]."""
    for attention in block.attentions:
        stream = walk.added(block, stream, walk.heads(attention), attention.output)
        if (found := _reading(stream, block.norms, read, token)) is not None:
            return found
    raise UserError(f"The input of layer {block.index} is not the residual stream or its norm, so its scores cannot be "
                    f"split; choose another model.")


def _memory(record: AttentionRecord, trace: Trace, memory: np.ndarray, token: int) -> Stream:
    """Return the contributions to one vector of the encoder's output, which cross-attention reads."""
    stream = Walk(record, trace, Kind.SELF, [token]).whole()
    found = _reading(stream, trace.final, memory, token)
    if found is None:
        raise UserError("The input of cross-attention is not the encoder's final vectors or their norm, so its scores "
                        "cannot be split; choose another model.")
    return found


def _projected(stream: Stream, projection: Projection, scale: np.ndarray | None, token: int, head: int,
               seen: np.ndarray, pairs: tuple[tuple[int, int], ...]) -> Stream:
    """Project the stream at a token to a head's query or key, parts (writer, 1, d_k). Each part is scaled and rotated
    as the norm and RoPE did with the whole. seen: the rotated query or key, (d_k)."""
    made = Stream(stream.names, stream.parts @ projection.weight[head].astype(np.float64))
    if projection.bias is not None:
        made = made.add(BIAS, projection.bias[head].astype(np.float64))
    parts = made.parts if scale is None else made.parts * scale[token, head]
    return Stream(made.names, turned(parts, parts.sum(0), seen.astype(np.float64), pairs))


@dataclass(frozen=True)
class AddsQuery:
    """What does one head add to the residual stream at one position?"""

    query: Query
    kind: Kind
    layer: int
    head: int
    position: int

    def answer(self, models: Models, report: Progress) -> "Adds":
        """Measure the vector's length, its share of the stream and its effect on logits. Raises UserError if the model
        cannot be traced."""
        record, trace = models.record(self.query, report), models.trace(self.query, report)
        return adds(record, trace, self, models.open(self.query, report).vocabulary.name)


@dataclass(frozen=True)
class Adds:
    """The vector that a head adds at one position, compared with the residual stream."""

    length: float                             # length of the vector
    stream: float                             # length of the residual stream after this attention layer
    share: float                              # projection on the stream, relative to it; all writers' shares sum to 1
    promoted: tuple[tuple[str, float], ...]   # tokens with the largest change in logit; () without an unembedding
    demoted: tuple[tuple[str, float], ...]    # tokens with the smallest (most negative) change in logit

    nbytes = 1000


def adds(record: AttentionRecord, trace: Trace, asked: AddsQuery, name_of: Callable[[int], str]) -> Adds:
    """Compare a head's vector with the residual stream, and compute its direct contribution to the logits.

    Logits are relative to their mean over the vocabulary, because a constant added to all does not change any
    probability.
    """
    wanted, _ = trace.find(asked.kind, asked.layer)
    walk = Walk(record, trace, asked.kind, [asked.position])
    stream = next(entering for block, entering in walk if block is wanted)
    for attention in wanted.attentions:
        added = walk.heads(attention)
        if (attention.kind, attention.index) == (asked.kind, asked.layer):
            break
        stream = walk.added(wanted, stream, added, attention.output)
    after = next((norm for norm in wanted.norms if same_numbers(norm.input, attention.output)), None)
    added = added if after is None else added.through(after, walk.tokens)
    whole, own = stream.total[0] + added.total[0], added.parts[asked.head, 0]
    promoted: tuple[tuple[str, float], ...] = ()
    demoted = promoted
    if trace.unembedding is not None and trace.blocks[-1].kind is walk.stack:
        last = last_stream(record, trace, asked.position)
        name = ("cross " if asked.kind is Kind.CROSS else "") + head_label(asked.layer, asked.head)
        changes = trace.unembedding.weight @ last.parts[last.names.index(name), 0] * trace.unembedding.scale
        ranked, changes = np.argsort(-changes, kind="stable").tolist(), changes - changes.mean()
        promoted, demoted = (tuple((name_of(number), float(changes[number])) for number in numbers)
                             for numbers in (ranked[:MOVED_TOKENS], ranked[:-MOVED_TOKENS - 1:-1]))
    return Adds(float(np.linalg.norm(own)), float(np.linalg.norm(whole)), float(own @ whole / (whole @ whole)),
                promoted, demoted)


@dataclass(frozen=True)
class WritesQuery:
    """What does each component add to a logit, or to the difference of two logits, at one position?"""

    query: Query
    position: int
    token: int | str                 # the token whose logit is decomposed, as a string or id
    rival: int | str | None = None   # the token whose logit is subtracted, if any

    def answer(self, models: Models, report: Progress) -> "Writes":
        """Decompose the logit. Raises UserError if the logits are not a linear function of the final vectors."""
        record, trace = models.record(self.query, report), models.trace(self.query, report)
        opened = models.open(self.query, report)
        ids = [token_id(opened, each) for each in (self.token, self.rival) if each is not None]
        found = writes(record, trace, self.position, ids)
        logits = opened.run(opened.tokens(self.query), self.query.edits, every=True).outputs()[0, self.position]
        rival = float(logits[ids[1]]) if len(ids) > 1 else 0.0
        return Writes(tuple(map(opened.vocabulary.name, ids)), float(logits[ids[0]]) - rival, *found)


@dataclass(frozen=True)
class CosineQuery:
    """What does each component add to the cosine of two texts' vectors? The other text's vector and the length of this
    one are frozen."""

    query: Query
    other: Query

    def answer(self, models: Models, report: Progress) -> "Writes":
        """Decompose the cosine. Raises UserError for a model that does not answer with a sentence vector."""
        own, other = (models.record(each, report) for each in (self.query, self.other))
        if self.query.model != self.other.model:
            raise UserError("Two models read these texts, so their vectors have no cosine; use one for both.")
        first, second = _sentence_vector(own), _sentence_vector(other)
        trace = models.trace(self.query, report)
        tokens = [0] if models.open(self.query, report).vector_of == "first" else range(len(own.maps[0].queries))
        values: dict[str, float] = {}
        pooled = np.zeros_like(first)
        for start in range(0, len(tokens), BATCH):
            report(start / len(tokens))
            stream = final_stream(own, trace, list(tokens[start:start + BATCH]))
            parts = stream.parts.sum(1) / len(tokens)
            pooled += parts.sum(0)
            for name, value in zip(stream.names, parts @ second, strict=True):
                values[name] = values.get(name, 0.0) + float(value)
        length = np.linalg.norm(pooled)
        if not same_numbers(pooled / length, first):
            raise UserError(f"The vector of {own.card.title} is not made of its final vectors in a known way, so its "
                            f"cosine cannot be split; choose a model such as MiniLM.")
        return Writes((self.query.text, self.other.text), float(first @ second),
                      *_by_writer(own, trace, {name: value / length for name, value in values.items()}))


def _sentence_vector(record: AttentionRecord) -> np.ndarray:
    """Return the record's sentence vector at length 1, float64 (d_model). Raises UserError if it has none."""
    vector = None if record.prediction is None else record.prediction.vector
    if vector is None:
        raise UserError(f"{record.card.title} does not answer with a sentence vector, so there is no cosine to split; "
                        f"choose a model such as MiniLM.")
    return np.asarray(vector / np.linalg.norm(vector), np.float64)


@dataclass(frozen=True, eq=False)
class Writes:
    """Direct attribution: each writer's contribution to a logit, a logit difference or a cosine."""

    tokens: tuple[str, ...]     # the answer and its rival, in the vocabulary's spelling; for a cosine, the two texts
    difference: float           # the logit, difference or cosine computed by the model
    embedding: float            # token, position and segment embeddings together
    heads: np.ndarray           # float64 (layer, head)
    cross: np.ndarray           # cross-attention heads, float64 (layer, head); (0, 0) if there are none
    feed_forward: np.ndarray    # float64 (layer)
    bias: float                 # biases of all projections, norms and the unembedding
    rest: float                 # remainder that no writer accounts for
    others: float = 0.0         # layers without softmax attention, with the embedding if they come first

    def __repr__(self) -> str:
        most = self.frame().iloc[0]
        return (f"<Writes: {self.difference:.4f}, parts that sum to {self.total:.4f}; largest head "
                f"{most.layer:.0f}·{most['head']:.0f} {most.value:+.4f}>")

    @property
    def total(self) -> float:
        """The sum of all contributions, equal to `difference` up to rounding."""
        return float(self.embedding + self.heads.sum() + self.cross.sum() + self.feed_forward.sum() + self.bias
                     + self.rest + self.others)

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.heads.nbytes + self.cross.nbytes + self.feed_forward.nbytes

    def frame(self) -> "DataFrame":
        """Return one row per head with layer, head and value, sorted by absolute value in descending order."""
        from pandas import DataFrame

        layers, heads = np.indices(self.heads.shape)
        table = DataFrame({"layer": layers.ravel(), "head": heads.ravel(), "value": self.heads.ravel()})
        return table.sort_values("value", key=np.abs, ascending=False, kind="stable").reset_index(drop=True)


def final_stream(record: AttentionRecord, trace: Trace, tokens: list[int]) -> Stream:
    """Return the contributions to the final vectors at these tokens, behind the last norm."""
    kind = trace.blocks[-1].kind
    stream, (block, norm) = Walk(record, trace, kind, tokens).whole(), trace.last(kind)
    if not same_numbers(stream.total, block.after[tokens].astype(np.float64)):
        stream = stream.add(REST, block.after[tokens] - stream.total)
    return stream if norm is None else stream.through(norm, np.array(tokens))


def last_stream(record: AttentionRecord, trace: Trace, position: int) -> Stream:
    """Return the contributions to the unembedding's input at one position. Raises UserError without an unembedding."""
    if trace.unembedding is None:
        raise UserError(NO_LOGITS)
    stream, transform = final_stream(record, trace, [position]), trace.transform
    if transform is None:
        return stream
    stream = Stream(stream.names, stream.parts @ transform.weight.astype(np.float64))
    stream = stream if transform.bias is None else stream.add(BIAS, transform.bias)
    return Stream(stream.names, stream.parts * transform.slope[position]).through(transform.norm, np.array([position]))


Parts = tuple[float, np.ndarray, np.ndarray, np.ndarray, float, float, float]


def writes(record: AttentionRecord, trace: Trace, position: int, ids: list[int]) -> Parts:
    """Return the contributions to the logit of ids[0], minus that of ids[1] if given, in the order of `Writes`."""
    stream, unembedding = last_stream(record, trace, position), trace.unembedding
    assert unembedding is not None   # checked by last_stream
    if max(ids) >= len(unembedding.weight):
        raise UserError(f"The vocabulary has {len(unembedding.weight):,} tokens, so there is no id {max(ids):,}; "
                        f"choose another.")
    signs = np.array([1.0, -1.0])[:len(ids)]
    direction = signs @ unembedding.weight[ids].astype(np.float64) * unembedding.scale
    values = dict(zip(stream.names, (stream.parts[:, 0] @ direction).tolist(), strict=True))
    if unembedding.bias is not None:
        values[BIAS] = values.get(BIAS, 0.0) + float(signs @ unembedding.bias[ids])
    return _by_writer(record, trace, values)


def _by_writer(record: AttentionRecord, trace: Trace, values: dict[str, float]) -> Parts:
    """Sort the writers' contributions into embedding, heads, cross, feed-forward layers, bias, rest and others."""
    kind = trace.blocks[-1].kind
    grids = [np.array([[values.pop(prefix + head_label(layer.index, head)) for head in range(layer.heads)]
                       for layer in record[each].layers]) if each in record.kinds else np.zeros((0, 0))
             for each, prefix in ((kind, ""), (Kind.CROSS, "cross "))]
    layers = [block.index for block in trace.blocks if block.kind is kind]
    feed_forward = np.array([values.pop(f"mlp {layer}") for layer in layers])
    bias, rest = values.pop(BIAS, 0.0), values.pop(REST, 0.0)
    others = sum(values.pop(name) for name in [*values] if name.startswith(BEFORE))
    return sum(values.values()), grids[0], grids[1], feed_forward, bias, rest, others


@dataclass(frozen=True)
class LensQuery:
    """What would the model predict if the stream after each block were unembedded directly, at one position?"""

    query: Query
    position: int

    def answer(self, models: Models, report: Progress) -> "Lens":
        """Compute the logit lens. Raises UserError if the logits are not a linear function of the final vectors."""
        opened, trace = models.open(self.query, report), models.trace(self.query, report)
        return lens(trace, self.position, opened.vocabulary.name)


@dataclass(frozen=True, eq=False)
class Lens:
    """The logit lens (nostalgebraist 2020) at one position, layer by layer; the last row is the model's own answer."""

    layers: tuple[int, ...]                         # index of the block; -1 is the embedding
    ids: tuple[tuple[int, ...], ...]                # ids of the best tokens of each layer
    tokens: tuple[tuple[str, ...], ...]             # names of these tokens
    probabilities: tuple[tuple[float, ...], ...]    # probabilities of these tokens
    entropy: np.ndarray                             # bits, float64 (layer)
    divergence: np.ndarray   # bits, float64 (layer): Kullback–Leibler divergence from the final distribution

    def __repr__(self) -> str:
        return f"<Lens: {len(self.layers)} layers, the last says {self.tokens[-1][0]!r}>"

    def frame(self) -> "DataFrame":
        """Return one row per layer with layer (-1 is the embedding), tokens, probabilities, entropy and divergence."""
        from pandas import DataFrame

        return DataFrame({"layer": self.layers, "tokens": list(map(list, self.tokens)),
                          "probabilities": list(map(list, self.probabilities)), "entropy": self.entropy,
                          "divergence": self.divergence})

    @property
    def nbytes(self) -> int:
        """Estimate the size of the table in bytes."""
        return 500 * len(self.layers)


def lens(trace: Trace, position: int, name_of: Callable[[int], str]) -> Lens:
    """Apply the final norm, with its scale recomputed, and the unembedding to the stream after every block."""
    if trace.unembedding is None:
        raise UserError(NO_LOGITS)
    kind = trace.blocks[-1].kind
    blocks, (_, norm) = [block for block in trace.blocks if block.kind is kind], trace.last(kind)
    vectors = np.stack([blocks[0].before[position], *(block.after[position] for block in blocks)]).astype(np.float64)
    vectors = vectors if norm is None else norm.apply(vectors)
    logits = trace.unembedding.logits(vectors if trace.transform is None else trace.transform.apply(vectors))
    shifted = logits - logits.max(-1, keepdims=True)
    chances = np.exp(shifted) / np.exp(shifted).sum(-1, keepdims=True)
    best = np.argsort(-logits, axis=-1, kind="stable")[:, :LENS_TOKENS]
    final = chances[-1]
    ratio = np.log2(np.maximum(final, 1e-300)) - np.log2(np.maximum(chances, 1e-300))
    return Lens((-1, *(block.index for block in blocks)), tuple(map(tuple, best.tolist())),
                tuple(tuple(name_of(number) for number in row) for row in best.tolist()),
                tuple(tuple(np.take(row, ids).tolist()) for row, ids in zip(chances, best, strict=True)),
                entropy(chances, base=2), np.maximum((final * ratio).sum(-1), 0))


def token_id(opened: OpenModel, word: int | str) -> int:
    """Return the id of a token given as a string or id. Raises UserError if the string is not a single token."""
    if isinstance(word, int) or word.isdecimal():
        return int(word)
    tokenizer = opened.tokenizer
    if hasattr(tokenizer, "encode") and hasattr(tokenizer, "all_special_ids"):
        ids = tokenizer.encode(word, add_special_tokens=False)
        if len(ids) == 1 and (ids[0] != tokenizer.unk_token_id or word == tokenizer.unk_token):
            return int(ids[0])
    found = opened.vocabulary.number(word)
    if found is None:
        raise UserError(f"{word!r} is not one token of this vocabulary; write it as the model does (with its leading "
                        f"space, perhaps), or give its id.")
    return int(found)
